"""What the loop asks of those who answer, judge and learn, wherever they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from scalerl.pipeline.hearing import Hearing
from scalerl.records import Group, Prompt
from scalerl.rollout.generator import SeedOf
from scalerl.trainer.update_report import UpdateReport


class Answering(Protocol):
    """Answers prompts in whole groups, under the weights of the moment."""

    @property
    def has_room(self) -> bool:
        """Whether something would stand idle if nothing more were asked."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        ...

    def ask(self, prompt: Prompt, admission: int) -> None:
        """Begin a group."""
        ...

    def advance(self) -> list[Group]:
        """Go on a little; the groups that are whole now, not judged yet."""
        ...

    def given_up(self) -> list[int]:
        """Admissions that no group will ever come of, each named once."""
        ...


class Serving(Answering, Protocol):
    """The answering of a training run: it takes up new weights, counts its tokens, and survives a stop."""

    @property
    def num_sampled(self) -> int:
        """Tokens of finished answers so far."""
        ...

    @property
    def num_prefilled(self) -> int:
        """Prompt tokens read so far."""
        ...

    def take_up(self, version: int) -> None:
        """Sample what comes from now on from the weights of this version."""
        ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Write down what is in flight; returns what JSON can hold."""
        ...

    def load(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Go on where that was written."""
        ...

    def follow(self, facts: Mapping[str, Any], version: int) -> None:
        """Count on from another run's facts, at its version; what it had in flight stays behind."""
        ...


class Judging(Protocol):
    """Puts groups before a judge; it may take its time."""

    @property
    def is_idle(self) -> bool:
        """Whether everything that was handed in has come back."""
        ...

    def hear(self, groups: Sequence[Group]) -> list[Hearing]:
        """Take these in; those whose verdicts can be counted on by now come back, each group once."""
        ...

    def save(self, folder: Path) -> None:
        """Write down what has been handed in and has not come back as a hearing."""
        ...

    def load(self, folder: Path) -> None:
        """Hand in again what was written there, and nothing else."""
        ...


class Learning(Protocol):
    """Moves the weights."""

    def update(self, groups: Sequence[Group], version: int, meanwhile: Callable[[], None]) -> UpdateReport:
        """Learn from a batch under the weights of this version; who learns elsewhere goes on with `meanwhile`."""
        ...

    def save(self, folder: Path) -> None:
        """Write down weights and optimizer."""
        ...

    def load(self, folder: Path) -> None:
        """Go on exactly where that was written."""
        ...


class Asking(Protocol):
    """Where the answers of an evaluation come from."""

    @property
    def num_tokens(self) -> int:
        """Tokens read and written for evaluations so far."""
        ...

    def begin(self, step: int, seed_of: SeedOf) -> Answering:
        """Somebody to ask, under the weights of this step."""
        ...
