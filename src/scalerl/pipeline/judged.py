"""From sampled answers to rewards: every rollout of a group is put before the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scalerl.objective.reward import reward
from scalerl.recipe.lengths import Length
from scalerl.records import Group, Rollout, Verdict
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.generator import SeedOf
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Court:
    """A judge with what is needed to lay rollouts before it."""

    judge: Judge
    encoder: Encoder
    length: Length
    seed_of: SeedOf

    @property
    def is_idle(self) -> bool:
        """Every group comes back at once."""
        return True

    def save(self, folder: Path) -> None:
        """Nothing is ever under way here between two steps of the loop."""

    def load(self, folder: Path) -> None:
        """So there is nothing to go on with."""

    def judged(self, groups: Sequence[Group]) -> list[Group]:
        """The same groups, in the same order, each rollout with its verdict and reward."""
        asked = [
            (group.prompt, self._answer(group, place)) for group in groups for place in range(len(group.rollouts))
        ]
        verdicts = iter(self.judge.judge_all(asked))
        return [
            replace(group, rollouts=tuple(self._worth(one, next(verdicts)) for one in group.rollouts))
            for group in groups
        ]

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
