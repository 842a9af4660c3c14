"""From prompts to whole groups: asks the engine for each sample and puts the answers together again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from scalerl.records import Group, Prompt, Rollout
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.engine import Engine, Request
from scalerl.run.groups import group_lines, read_groups

ENGINE, BEGUN = "engine.safetensors", "begun.jsonl"
"""Files of a checkpoint: what is in the slots, and the groups that it belongs to."""


class SeedOf(Protocol):
    """The seed of one place in one admission of a prompt."""

    def __call__(self, prompt: Prompt, admission: int, place: int, /) -> int:
        """A number that nothing but its arguments decides."""
        ...


@dataclass(kw_only=True, slots=True)
class _Open:
    prompt: Prompt
    tokens: NDArray[np.int32]
    version: int
    rollouts: dict[int, Rollout]


class Generator:
    """Samples `samples` answers to each prompt it is asked; a group is handed over when its last one is done."""

    def __init__(self, engine: Engine, encoder: Encoder, *, samples: int, seed_of: SeedOf) -> None:
        self.engine, self._encoder = engine, encoder
        self._samples, self._seed_of = samples, seed_of
        self._open: dict[int, _Open] = {}

    @property
    def has_room(self) -> bool:
        """Whether a slot would stand idle if nothing more were asked."""
        return self.engine.num_free > 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return not self._open

    @property
    def num_sampled(self) -> int:
        """Tokens of finished answers so far."""
        return self.engine.num_sampled

    @property
    def num_prefilled(self) -> int:
        """Prompt tokens read so far."""
        return self.engine.num_prefilled

    def take_up(self, version: int) -> None:
        """Stamp what is sampled from now on with a new version: the weights have just been written."""
        self.engine.take_up(version)

    def given_up(self) -> list[int]:
        """Nothing is ever lost here."""
        return []

    def ask(self, prompt: Prompt, admission: int) -> None:
        """Begin a group; it may start at once or wait for slots."""
        tokens = self._encoder.prompt(prompt)
        self._open[admission] = _Open(prompt=prompt, tokens=tokens, version=self.engine.version, rollouts={})
        self.engine.submit(
            [
                Request(key=(admission, place), prompt=tokens, seed=self._seed_of(prompt, admission, place))
                for place in range(self._samples)
            ]
        )

    def advance(self) -> list[Group]:
        """Decode a little; the groups that are whole now, in order of admission, not judged yet."""
        whole: list[int] = []
        for done in self.engine.step():
            admission, place = done.request.key
            rollouts = self._open[admission].rollouts
            rollouts[place] = replace(done.rollout, text=self._encoder.text(done.rollout.tokens))
            if len(rollouts) == self._samples:
                whole.append(admission)
        return [self._closed(admission) for admission in sorted(whole)]

    def _closed(self, admission: int) -> Group:
        one = self._open.pop(admission)
        one.rollouts = {place: one.rollouts[place] for place in range(self._samples)}
        return _group(admission, one)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write down the engine's state and the groups it belongs to; returns the places of the answers done."""
        tensors, facts = self.engine.state()
        save_file({name: one.contiguous() for name, one in tensors.items()}, folder / ENGINE)
        begun = [_group(admission, one) for admission, one in self._open.items()]
        (folder / BEGUN).write_bytes(group_lines(begun))
        places = {str(admission): list(one.rollouts) for admission, one in self._open.items()}
        return {"engine": facts, "places": places}

    def load(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Go on where that was written."""
        self.engine.restore(load_file(folder / ENGINE), facts["engine"])
        self._open = {}
        for group in read_groups(folder / BEGUN):
            places: list[int] = facts["places"][str(group.admission)]
            self._open[group.admission] = _Open(
                prompt=group.prompt,
                tokens=group.prompt_tokens,
                version=group.admitted_version,
                rollouts=dict(zip(places, group.rollouts, strict=True)),
            )

    def follow(self, facts: Mapping[str, Any], version: int) -> None:
        """Count on from another run's facts, at its version; what it had in flight stays behind."""
        self.engine.take_up(version)
        self.engine.num_prefilled = int(facts["engine"]["num_prefilled"])
        self.engine.num_sampled = int(facts["engine"]["num_sampled"])


def _group(admission: int, one: _Open) -> Group:
    return Group(
        prompt=one.prompt,
        prompt_tokens=one.tokens,
        rollouts=tuple(one.rollouts.values()),
        admission=admission,
        admitted_version=one.version,
    )
