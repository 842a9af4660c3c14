"""pass@k and maj@k against numbers worked out by hand and against every subset."""

import math
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.pipeline.measures import Answered, ballot, majority_at, mean_at, over_prompts, pass_at


def answered(*votes: tuple[str, bool]) -> Answered:
    return Answered(votes=tuple(vote for vote, _ in votes), passed=tuple(passed for _, passed in votes))


def repeated(right: int, wrong: int) -> Answered:
    return answered(*[("r", True)] * right, *[("w", False)] * wrong)


# Of 6 answers 2 right: pass@2 = 1 - C(4,2)/C(6,2) = 1 - 6/15.
@pytest.mark.parametrize(
    ("right", "wrong", "k", "chance"),
    [(2, 4, 2, 9 / 15), (1, 3, 1, 1 / 4), (0, 4, 3, 0), (3, 1, 2, 1), (1, 7, 8, 1)],
)
def test_pass_at_k_by_hand(right, wrong, k, chance):
    assert pass_at(repeated(right, wrong), k) == pytest.approx(chance)


# Two right, one wrong. k = 2: {r,r} wins, {r,w} twice is a tie: (1 + 1/2 + 1/2) / 3.
@pytest.mark.parametrize(
    ("right", "wrong", "k", "chance"),
    [(2, 1, 2, 2 / 3), (2, 1, 1, 2 / 3), (2, 1, 3, 1), (1, 2, 3, 0), (2, 2, 4, 1 / 2)],
)
def test_majority_by_hand(right, wrong, k, chance):
    assert majority_at(repeated(right, wrong), k) == pytest.approx(chance)


def test_three_answers_tied_share_the_vote():
    assert majority_at(answered(("a", True), ("b", False), ("c", False)), 3) == pytest.approx(1 / 3)


def test_an_abstention_takes_a_place_but_no_vote():
    # Pairs: {r, -} right, {r, w} tied, {-, w} wrong.
    assert majority_at(answered(("r", True), ("", False), ("w", False)), 2) == pytest.approx((1 + 1 / 2) / 3)
    assert majority_at(answered(("", False), ("", False)), 2) == 0


def test_an_answer_that_is_right_by_chance_counts_by_its_share():
    assert majority_at(answered(("h", True), ("h", False), ("t", True)), 3) == pytest.approx(1 / 2)


def by_enumeration(one: Answered, k: int) -> tuple[float, float]:
    passed, won = [], []
    for subset in combinations(range(one.num_samples), k):
        passed.append(any(one.passed[at] for at in subset))
        votes = Counter(one.votes[at] for at in subset if one.votes[at])
        winners = [vote for vote, count in votes.items() if count == max(votes.values())]
        shares = [sum(one.passed[at] for at in subset if one.votes[at] == vote) / votes[vote] for vote in winners]
        won.append(sum(shares) / len(shares) if shares else 0.0)
    return sum(passed) / len(passed), sum(won) / len(won)


ANSWERS = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c", "d"]), st.booleans()), min_size=1, max_size=8)


@given(ANSWERS, st.data())
def test_both_are_means_over_every_subset(votes, data):
    one = answered(*((vote, passed and vote != "") for vote, passed in votes))
    k = data.draw(st.integers(1, one.num_samples))
    passed, won = by_enumeration(one, k)
    assert pass_at(one, k) == pytest.approx(passed)
    assert majority_at(one, k) == pytest.approx(won)


@given(ANSWERS)
def test_one_answer_is_a_mean_by_any_name(votes):
    one = answered(*((vote, passed and vote != "") for vote, passed in votes))
    assert pass_at(one, 1) == pytest.approx(mean_at(one)) == pytest.approx(majority_at(one, 1))


def test_many_answers_do_not_overflow():
    # One of 501 is left out: a tie where it is a wrong one, else the wrong ones win.
    assert majority_at(repeated(250, 251), 500) == pytest.approx(251 / 501 / 2)
    assert pass_at(repeated(1, 1999), 1000) == pytest.approx(1 / 2)


def test_the_error_is_over_prompts():
    # Pass rates 0, 1/2, 1: mean 1/2, sample variance 1/4, error sqrt(1/4 / 3).
    found = over_prompts([repeated(0, 2), repeated(1, 1), repeated(2, 0)], mean_at)
    assert (found.value, found.error) == (pytest.approx(0.5), pytest.approx(math.sqrt(1 / 12)))
    assert math.isnan(over_prompts([repeated(1, 1)], mean_at).error)


@pytest.mark.parametrize(
    ("text", "vote"),
    [
        (r"First \boxed{1}, then \boxed{x^{2}}.", "x^{2}"),
        (r"\boxed{1} and an open \boxed{2", "1"),
        ("<answer>a</answer> no, <answer> b\n c </answer>", "b c"),
        ("  forty   two ", "forty two"),
        ("", ""),
    ],
)
def test_what_an_answer_votes_for(text, vote):
    assert ballot(text) == vote
