import math

import pytest

from scalerl.errors import InputError
from scalerl.objective.reward import reward
from scalerl.recipe.lengths import Interruption, Limit, Penalty
from scalerl.records import Verdict

RIGHT = Verdict(score=1.0, passed=True)
WRONG = Verdict(score=0.0, passed=False)


@pytest.mark.parametrize("length", [Interruption(), Limit(), Penalty()])
def test_a_short_answer_earns_one_or_loses_one(length):
    assert (reward(RIGHT, 10, length), reward(WRONG, 10, length)) == (1.0, -1.0)


def test_a_score_between_is_stretched():
    assert reward(Verdict(score=0.25, passed=False), 10, Limit()) == -0.5


@pytest.mark.parametrize(
    ("num_tokens", "expected"),
    [(0, 1.0), (12_000, 1.0), (12_500, 0.75), (13_000, 0.5), (14_000, 0.0), (20_000, 0.0)],
)
def test_the_penalty_of_the_paper(num_tokens, expected):
    length = Penalty(max_tokens=14_000, margin_tokens=2_000)
    assert reward(RIGHT, num_tokens, length) == pytest.approx(expected)
    assert reward(WRONG, num_tokens, length) == -1.0, "only right answers pay"


def test_an_answer_that_could_not_be_judged_has_no_reward():
    assert math.isnan(reward(Verdict(score=0.0, passed=False, error="timed out"), 10, Limit()))


@pytest.mark.parametrize("score", [-0.1, 1.5, float("nan")])
def test_a_score_outside_zero_to_one_is_refused(score):
    with pytest.raises(InputError, match="expected a number from 0 to 1"):
        reward(Verdict(score=score, passed=False), 10, Limit())
