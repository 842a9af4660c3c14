"""Reasoning-gym: distinct prompts that every process makes alike, judged by the dataset's own scorer."""

import os
import subprocess
import sys

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Gym as Section
from scalerl.tasks.exact_json import decoded, encoded
from scalerl.tasks.gym import Gym
from scalerl.tasks.task import Answer

pytest.importorskip("reasoning_gym")

SUMS = Section(dataset="chain_sum", options={"min_terms": 2, "max_terms": 3}, num_prompts=60)


def test_pool_and_held_out_are_distinct_disjoint_and_alike_each_time():
    task, again = Gym(SUMS), Gym(SUMS)
    both = [*task.prompts(), *task.held_out(40)]
    assert len(both) == 100 == len({prompt.text for prompt in both}) == len({prompt.id for prompt in both})
    assert both == [*again.prompts(), *again.held_out(40)]
    assert all(prompt.id.startswith("chain_sum:") and prompt.task == task.name == "chain_sum" for prompt in both)


def test_seeds_side_by_side_share_no_prompts():
    # Item i of a dataset comes from seed + i, so that seeds 0 and 1 taken as they are share all but one.
    pools = [
        {p.text for p in Gym(Section(dataset="chain_sum", num_prompts=60, seed=seed)).prompts()} for seed in (0, 1)
    ]
    assert len(pools[0] & pools[1]) < 3


def test_questions_are_the_same_whatever_the_order_of_sets_in_this_process():
    # The letters of these questions come out of a set.
    code = (
        "from scalerl.recipe.tasks import Gym as Section; from scalerl.tasks.gym import Gym\n"
        "print([p.id for p in Gym(Section(dataset='isomorphic_strings', num_prompts=20)).prompts()])"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1] and b"isomorphic_strings:" in printed[0]


def test_scored_by_the_dataset_and_passed_from_the_threshold_on():
    strict = Gym(SUMS)
    lenient = Gym(Section(dataset="chain_sum", options=SUMS.options, num_prompts=60, pass_at=0.1))
    prompt = strict.prompts()[0]
    right = decoded(prompt.answer)["answer"]
    for text in (right, f"I think <answer>{right}</answer>."):
        assert strict.judge(prompt, Answer(text=text)).score == 1.0
        assert strict.judge(prompt, Answer(text=text)).passed
    half = strict.judge(prompt, Answer(text=f"{right} or so"))  # the answer stands in it: a share of the score
    assert half.score == pytest.approx(len(right) / (len(right) + 6)) and not half.passed
    assert lenient.judge(prompt, Answer(text=f"{right} or so")).passed
    wrong = strict.judge(prompt, Answer(text="no idea"))
    assert wrong.score == 0 and not wrong.passed and not wrong.error


def test_text_that_the_scorer_stumbles_over_is_a_wrong_answer_not_an_error():
    task = Gym(Section(dataset="prime_factorization", num_prompts=5))
    prompt = task.prompts()[0]
    assert task.judge(prompt, Answer(text="hello")).score == 0  # its scorer makes int("hello")
    assert task.judge(prompt, Answer(text=decoded(prompt.answer)["answer"])).passed


def test_grids_in_tuples_come_back_as_tuples():
    task = Gym(Section(dataset="rearc", num_prompts=3))  # its scorer compares tuples: lists would get 0.05
    for prompt in task.prompts():
        assert task.judge(prompt, Answer(text=decoded(prompt.answer)["answer"])).score == 1.0


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (Section(dataset="chain_sums"), r"task.dataset is 'chain_sums'; reasoning-gym has such as chain_sum"),
        (Section(), r"task.dataset is ''; reasoning-gym has such as"),
        (Section(dataset="chain_sum", options={"terms": 3}), r"has 'terms'; 'chain_sum' has min_terms"),
        (Section(dataset="chain_sum", options={"seed": 3}), r"task.options has 'seed'"),
        (Section(dataset="chain_sum", options={"min_terms": 9}), r"task.options do not suit .*max_terms"),
        (Section(dataset="chain_sum", options={"min_terms": "a"}), r"task.options do not suit .*'str' and 'int'"),
        (
            Section(dataset="coin_flip", options={"min_trials": 1, "max_trials": 1}, num_prompts=200),
            r"gave only \d+ different questions; 200 are asked for",
        ),
    ],
)  # fmt: skip
def test_a_section_that_cannot_be_is_refused(section, message):
    with pytest.raises(InputError, match=message):
        Gym(section).prompts()


@pytest.mark.parametrize(
    "value", [{"a": (1, [2, (3,)])}, {1: {"b": None}, (1, 2): True}, [{}, (), "x", 1.5, {"tuple": []}]]
)
def test_data_come_back_exactly(value):
    import json

    assert decoded(json.loads(json.dumps(encoded(value)))) == value


def test_data_that_json_cannot_hold_are_refused():
    import numpy as np

    assert encoded({"n": np.int64(3)}) == {"dict": [["n", 3]]}
    with pytest.raises(TypeError, match="a set cannot be kept"):
        encoded([{1, 2}])
