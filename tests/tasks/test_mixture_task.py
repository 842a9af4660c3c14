"""A mixture: shares that add up, names that never collide, no held-out prompt of one part in another's pool."""

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.recipe.tasks import Chain, Mixture, Part
from scalerl.records import Prompt, Verdict
from scalerl.tasks.building import task_of
from scalerl.tasks.judging import Judge
from scalerl.tasks.shares import shares
from scalerl.tasks.task import Answer


def mixed(*parts: Part, num_held_out: int = 20):
    return task_of(Mixture(parts=parts), num_held_out=num_held_out)


SHORT = Part(name="short", weight=3, task=Chain(num_prompts=30, steps=(1, 2), coin_flips=0.5))
LONG = Part(name="long", task=Chain(num_prompts=40, steps=(5, 8)))


def test_prompts_carry_the_name_of_their_part():
    task = mixed(SHORT, LONG)
    for prompts, counts in ((task.prompts(), (30, 40)), (task.held_out(20), (20, 20))):
        assert [prompt.task for prompt in prompts] == ["short"] * counts[0] + ["long"] * counts[1]
        assert all(prompt.id.startswith(f"{prompt.task}:chain:") for prompt in prompts)
        assert len({prompt.id for prompt in prompts}) == sum(counts)


def test_the_same_task_twice_keeps_its_ids_apart():
    task = mixed(Part(name="a", task=Chain(num_prompts=5)), Part(name="b", task=Chain(num_prompts=5)))
    assert len({prompt.id for prompt in task.prompts()}) == 10


def test_each_part_judges_its_own():
    task = mixed(SHORT, LONG)
    whole = [(prompt, Answer(text=str(prompt.answer["digit"]), nonce=5)) for prompt in task.held_out(20)]
    with Judge(task) as judge:
        verdicts = judge.judge_all(whole)
    alone = task_of(SHORT.task, num_held_out=20)
    assert verdicts[:20] == [alone.judge(prompt, Answer(text="", nonce=5)) if prompt.answer["coin"] else
                             Verdict(score=1.0, passed=True) for prompt in alone.held_out(20)]  # fmt: skip
    assert all(verdict.passed for verdict in verdicts[20:])


def test_what_one_part_holds_out_no_other_part_trains_on():
    few = Part(name="few", task=Chain(num_prompts=50, steps=(1, 1), seed=1))
    many = Part(name="many", task=Chain(num_prompts=200, steps=(1, 1), seed=2))  # of 300 there are: they must meet
    task = mixed(few, many)
    with pytest.warns(UserWarning, match=r"\d+ prompts of the mixture are held out by another part"):
        pool = {prompt.text for prompt in task.prompts()}
    assert not pool & {prompt.text for prompt in task.held_out(20)}
    assert len(pool) > 150


def test_shares_worked_by_hand():
    assert shares({"a": 1, "b": 1, "c": 1}, 10) == {"a": 4, "b": 3, "c": 3}  # ties go to the first
    assert shares({"a": 2, "b": 1}, 48) == {"a": 32, "b": 16}
    assert shares({"a": 0.47, "b": 0.16, "c": 0.158, "d": 0.12, "e": 0.061, "f": 0.031}, 100) == {
        "a": 47, "b": 16, "c": 16, "d": 12, "e": 6, "f": 3,
    }  # fmt: skip
    assert shares({"a": 1000, "b": 1, "c": 1}, 4) == {"a": 2, "b": 1, "c": 1}
    assert mixed(SHORT, LONG).shares(48) == {"short": 36, "long": 12}


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=12), st.integers(0, 100))
def test_shares_add_up_and_lie_within_one_of_the_quota(weights, extra):
    named = {str(index): weight for index, weight in enumerate(weights)}
    total = len(weights) + extra
    found = shares(named, total)
    assert sum(found.values()) == total and min(found.values()) >= 1
    quotas = {name: Fraction(weight * total, sum(weights)) for name, weight in named.items()}
    if min(quotas.values()) >= 1:
        assert all(abs(found[name] - quota) < 1 for name, quota in quotas.items())
    for name, other in ((a, b) for a in named for b in named if named[a] > named[b]):
        assert found[name] >= found[other]


def test_a_batch_too_small_for_its_parts_is_refused():
    with pytest.raises(InputError, match=r"batch.prompts is 1, but the mixture has 2 parts; expected at least 2"):
        mixed(SHORT, LONG).shares(1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), r"task.parts is empty"),
        ((SHORT, SHORT), r"the name 'short' twice"),
        ((Part(name=""),), r"the name ''; expected letters"),
        ((Part(name="a:b"),), r"the name 'a:b'; expected letters"),
    ],
)
def test_parts_that_cannot_be_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        mixed(*parts)


def test_a_pickled_mixture_judges_alike():
    task = mixed(SHORT, LONG)
    again = pickle.loads(pickle.dumps(task))
    prompt: Prompt = task.prompts()[0]
    assert again.judge(prompt, Answer(text="1", nonce=3)) == task.judge(prompt, Answer(text="1", nonce=3))
    assert again.seconds(prompt) is None
