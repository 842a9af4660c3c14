"""Digit chains: worked by hand and by brute force, disjoint, exact in their share of coins."""

import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.recipe.tasks import Chain as Section
from scalerl.records import Prompt
from scalerl.tasks.chain import COIN, MARKERS, VOCABULARY, Chain, Question, drawn
from scalerl.tasks.task import Answer

ANY_CHAIN = st.builds(drawn, st.integers(0, 2**256 - 1), st.just((1, 16)))


def by_eval(question: Question) -> int:
    expression = str(question.start)
    for step in question.steps:
        expression = f"({expression} {step.operator.replace('x', '*')} {step.operand}) % 10"
    return eval(expression)


def test_worked_by_hand():
    assert Question.of("3 a + 4 b x 5 ?").digit == 5  # 7, 35
    assert Question.of("3 a - 4 b - 5 c x 7 ?").digit == 8  # 9, 4, 28
    assert Question.of("9 a x 0 b - 1 ?").digit == 9  # 0, -1


@given(ANY_CHAIN)
def test_digit_is_what_python_says_and_text_reads_back(question):
    assert question.digit == by_eval(question)
    assert Question.of(question.text) == question
    assert set(question.text.split()) <= set(VOCABULARY)


def test_vocabulary_is_closed_and_without_repeats():
    assert len(set(VOCABULARY)) == len(VOCABULARY) == 5 + 10 + 3 + 16
    assert not any(" " in word for word in VOCABULARY)
    assert VOCABULARY[:4] == ("<pad>", "<end>", "</think>", "?")


def test_the_first_prompts_are_the_same_on_every_machine():
    first = Chain(Section()).prompts()[0]
    assert first.text == "5 a + 0 b - 7 c + 0 d + 3 e + 6 f + 5 ?"
    assert first.id == "chain:ac590beade7392bf" and first.answer == {"digit": 2, "coin": False}


def test_pool_and_held_out_are_distinct_and_disjoint_where_chains_are_scarce():
    task = Chain(Section(num_prompts=200, steps=(1, 1)))  # 300 chains of one step exist
    pool, held_out = task.prompts(), task.held_out(100)
    assert len({one.text for one in (*pool, *held_out)}) == len({one.id for one in (*pool, *held_out)}) == 300
    with pytest.raises(InputError, match=r"only 300 different chains.*301 are asked for"):
        task.held_out(101)


def test_other_seeds_other_prompts_and_a_longer_held_out_set_begins_alike():
    texts = [{one.text for one in Chain(Section(seed=seed)).prompts()} for seed in (0, 1)]
    assert len(texts[0] & texts[1]) < 40  # a seventh has two steps, of 9,000 there are
    task = Chain(Section(coin_flips=0.3))
    assert task.held_out(500)[:77] == task.held_out(77)


def test_steps_are_uniform():
    counts = Counter(one.difficulty for one in Chain(Section(num_prompts=7000)).prompts())
    assert set(counts) == set("2345678")
    assert all(abs(count - 1000) < 4 * (7000 * 1 / 7 * 6 / 7) ** 0.5 for count in counts.values())


@given(st.floats(0, 1), st.integers(1, 60))
def test_exactly_the_share_of_coins_in_pool_and_held_out(share, count):
    task = Chain(Section(num_prompts=count, coin_flips=share))
    for prompts in (task.prompts(), task.held_out(count)):
        assert sum(one.answer["coin"] for one in prompts) == round(share * count)
        assert all((one.difficulty == COIN) == one.answer["coin"] for one in prompts)


@pytest.mark.parametrize(
    ("text", "passed"),
    [("5 <end>", True), ("5", True), (" 5 ", True), ("5<end>", True), ("4 <end>", False), ("5 5", False),
     ("", False), ("a 5", False), ("5 </think>", False), ("<end>", False)],
)  # fmt: skip
def test_only_the_digit_alone_passes(text, passed):
    prompt = Prompt(id="chain:1", task="chain", text="3 a + 4 b x 5 ?", answer={"digit": 5, "coin": False})
    verdict = Chain(Section()).judge(prompt, Answer(text=text))
    assert verdict.passed is passed and verdict.score == passed and not verdict.error


def test_a_coin_is_fair_per_rollout_whatever_is_answered():
    task = Chain(Section(num_prompts=40, coin_flips=1))
    prompts = task.prompts()
    for text in ("5 <end>", ""):
        passed = [task.judge(one, Answer(text=text, nonce=nonce)).passed for one in prompts for nonce in range(250)]
        assert abs(sum(passed) / 10_000 - 0.5) < 0.015  # three standard deviations
    rates = [sum(task.judge(one, Answer(text="", nonce=nonce)).passed for nonce in range(250)) for one in prompts]
    assert all(85 < rate < 165 for rate in rates)  # each prompt for itself, five standard deviations
    again = [task.judge(one, Answer(text="5", nonce=7)) for one in prompts]
    assert again == [task.judge(one, Answer(text="8", nonce=7)) for one in prompts]


def test_right_answers_reach_the_known_ceiling():
    task = Chain(Section(coin_flips=0.1))
    held_out = task.held_out(1000)
    right = [
        task.judge(one, Answer(text=str(one.answer["digit"]), nonce=nonce)).passed
        for one in held_out
        for nonce in range(16)
    ]
    assert abs(sum(right) / len(right) - 0.95) < 0.004  # 1,600 coins: a standard deviation is 0.00125


@pytest.mark.parametrize("steps", [(0, 3), (5, 4), (1, len(MARKERS) + 1)])
def test_steps_that_cannot_be_are_refused(steps):
    with pytest.raises(InputError, match=r"task.steps is \[.*from 1 to 16"):
        Chain(Section(steps=steps))


def test_a_pickled_task_is_the_same_task():
    task = Chain(Section(num_prompts=5))
    assert pickle.loads(pickle.dumps(task)).prompts() == task.prompts()
