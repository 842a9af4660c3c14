"""From sampled answers to rewards: every rollout of a group is put before the judge of this process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scalerl.objective.reward import reward
from scalerl.pipeline.hearing import Hearing
from scalerl.recipe.lengths import Length
from scalerl.records import Group, Rollout, Verdict
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.generator import SeedOf
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Court:
    """A judge with what is needed to lay rollouts before it.

    A group counts as soon as it is answered, judged or not: when a batch is whole does not hang on how long judges
    take, so that a run can be made again bit for bit while judges work beside the engine and the trainer.
    """

    judge: Judge
    encoder: Encoder
    length: Length
    seed_of: SeedOf

    @property
    def is_idle(self) -> bool:
        """Every group comes back at once."""
        return True

    def hear(self, groups: Sequence[Group]) -> list[Hearing]:
        """Lay every rollout before the judge."""
        return [self._hearing(group) for group in groups]

    def save(self, folder: Path) -> None:
        """Who was handed a hearing keeps its group."""

    def load(self, folder: Path) -> None:
        """So there is nothing to go on with."""

    def _hearing(self, group: Group) -> Hearing:
        verdicts = tuple(
            self.judge.begin(group.prompt, self._answer(group, place)) for place in range(len(group.rollouts))
        )
        return Hearing(asked=group, group=partial(self._judged, group, verdicts), verdicts=verdicts)

    def _judged(self, group: Group, verdicts: Sequence[Future[Verdict]]) -> Group:
        pairs = zip(group.rollouts, verdicts, strict=True)
        return replace(group, rollouts=tuple(self._worth(one, verdict.result()) for one, verdict in pairs))

    def _answer(self, group: Group, place: int) -> Answer:
        rollout = group.rollouts[place]
        thinking, text, is_closed = self.encoder.parts(rollout.tokens)
        return Answer(
            text=text,
            thinking=thinking,
            is_complete=is_closed and rollout.ending == "stopped",
            nonce=self.seed_of(group.prompt, group.admission, place),
        )

    def _worth(self, rollout: Rollout, verdict: Verdict) -> Rollout:
        return replace(rollout, verdict=verdict, reward=reward(verdict, len(rollout.tokens), self.length))
