"""Controls reward what has nothing to do with the answer, in training alone."""

import pytest

from scalerl.recipe.tasks import Chain
from scalerl.tasks.building import task_of
from scalerl.tasks.controls import training_judge
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer

TASK = task_of(Chain(num_prompts=40), num_held_out=10)


def test_the_reward_of_the_task_is_the_task():
    assert training_judge(TASK, "task") is TASK


@pytest.mark.parametrize("reward", ["random", "format"])
def test_a_control_asks_what_the_task_asks(reward):
    control = training_judge(TASK, reward)
    assert control.name == TASK.name
    assert control.prompts() == TASK.prompts() and control.held_out(10) == TASK.held_out(10)


def test_random_is_a_fair_coin_for_each_rollout_and_not_the_one_of_the_task():
    random = training_judge(TASK, "random")
    coins = task_of(Chain(num_prompts=40, coin_flips=1), num_held_out=10)
    prompts, nonces = coins.prompts(), range(250)
    thrown = [random.judge(one, Answer(text="", nonce=nonce)) for one in prompts for nonce in nonces]
    own = [coins.judge(one, Answer(text="", nonce=nonce)) for one in prompts for nonce in nonces]
    assert abs(sum(one.passed for one in thrown) / 10_000 - 0.5) < 0.015
    assert all(one.score == one.passed for one in thrown)
    assert abs(sum(a == b for a, b in zip(thrown, own, strict=True)) / 10_000 - 0.5) < 0.015
    right = Answer(text=str(prompts[0].answer["digit"]), nonce=3)
    assert random.judge(prompts[0], right) == random.judge(prompts[0], Answer(text="?", nonce=3))


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        (Answer(text="anything"), True),
        (Answer(text=" "), False),
        (Answer(text=""), False),
        (Answer(text="5", is_complete=False), False),
    ],
)
def test_format_looks_at_the_form_alone(answer, passed):
    prompt = TASK.prompts()[0]
    with Judge(training_judge(TASK, "format")) as judge:
        (verdict,) = judge.judge_all([(prompt, answer)])
    assert verdict.passed is passed and verdict.score == passed
