"""Held-out prompts that nobody answers count as failed; where none is answered there is no point of the curve."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from scalerl.errors import StoppedError
from scalerl.pipeline.evaluation import Evaluator
from scalerl.pipeline.hearing import Hearing
from scalerl.records import Group, Prompt, Rollout, Verdict


@dataclass
class Giving:
    """Answers every prompt twice, rightly, but for those it gives up."""

    lost: tuple = ()
    num_tokens: int = 0
    _asked: list = field(default_factory=list)

    def begin(self, step, seed_of):
        return self

    @property
    def is_idle(self):
        return not self._asked

    def ask(self, prompt, admission):
        self._asked.append((prompt, admission))

    def advance(self):
        done, self._asked = self._asked, []
        return [group(*one) for one in done if one[1] not in self.lost]

    def given_up(self):
        found, self.lost = list(self.lost), ()
        return found


class Court:
    is_idle = True

    def hear(self, groups):
        return [Hearing.over(group) for group in groups]


def group(prompt, admission):
    one = Rollout(
        tokens=np.zeros(1, np.int32), behavior=np.zeros(1, np.float32), versions=np.zeros(1, np.int32),
        is_trainable=np.ones(1, bool), ending="stopped", is_interrupted=False,
        verdict=Verdict(score=1.0, passed=True), reward=1.0,
    )  # fmt: skip
    return Group(
        prompt=prompt, prompt_tokens=np.zeros(1, np.int32), rollouts=(one, one), admission=admission,
        admitted_version=0,
    )  # fmt: skip


def evaluator(lost):
    prompts = tuple(Prompt(id=f"t:{n}", task="t", text=str(n), answer=None) for n in range(4))
    return Evaluator(asking=Giving(lost), court_of=lambda _: Court(), prompts=prompts, seed=0)


def test_a_prompt_that_nobody_answers_counts_as_failed():
    found = evaluator((1,)).tallies(7)
    assert [(one.num_passed, one.num_samples, one.num_errors) for one in found] == [
        (2, 2, 0), (0, 2, 2), (2, 2, 0), (2, 2, 0),
    ]  # fmt: skip


def test_a_curve_has_no_point_where_nothing_was_answered():
    with pytest.raises(StoppedError, match="no held-out prompt"):
        evaluator((0, 1, 2, 3)).tallies(7)
