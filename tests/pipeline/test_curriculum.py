"""Epochs, shares and no-positive-resampling, by hand and against a plain list."""

import json
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.seeds import seed_of
from scalerl.pipeline.staleness import Staleness
from scalerl.recipe import sections
from scalerl.records import Prompt


def prompts(num, task="chain"):
    return [
        Prompt(id=f"{task}/{number:03}", task=task, text=f"Question {number}?", answer=number)
        for number in range(num)
    ]


def curriculum(num=10, share=3, seed=0, **choices):
    return Curriculum(prompts(num), {"chain": share}, sections.Curriculum(**choices), seed)


def drawn(one, num, task="chain"):
    return [one.draw(task).id for _ in range(num)]


def epoch_of(one, rates=None, task="chain"):
    """Draw a whole epoch, record pass rates out of ten on the way, and say what was drawn."""
    ids = drawn(one, 1, task)
    ids += drawn(one, one.pool_size(task) - 1, task)
    for name in ids:
        if rates and name in rates:
            one.record(name, rates[name], 10)
    return sorted(ids)


def again(one, num=10, share=3, seed=0, **choices):
    fresh = curriculum(num, share, seed, **choices)
    fresh.restore(json.loads(json.dumps(one.state())))
    return fresh


def names(*numbers):
    return [f"chain/{number:03}" for number in numbers]


def test_an_epoch_asks_every_prompt_once_in_an_order_of_its_own():
    one = curriculum(num=50)
    epochs = [drawn(one, 50) for _ in range(3)]
    assert all(sorted(epoch) == names(*range(50)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert one.epoch("chain") == 2
    assert one.standing("chain/007").num_visits == 3


def test_the_order_follows_from_seed_and_ids_alone():
    backwards = Curriculum(prompts(50)[::-1], {"chain": 3}, sections.Curriculum(), 0)
    assert drawn(curriculum(num=50), 120) == drawn(backwards, 120)
    assert drawn(curriculum(num=50), 50) != drawn(curriculum(num=50, seed=1), 50)


def test_the_order_is_a_fair_shuffle():
    first = Counter(drawn(curriculum(num=4, seed=seed), 1)[0] for seed in range(2000))
    assert all(abs(count - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for count in first.values()), first


def test_easy_prompts_are_left_out_of_later_epochs():
    one = curriculum(num=6, share=2)
    easy = {"chain/001": 9, "chain/004": 10, "chain/005": 8}
    assert epoch_of(one, easy) == names(0, 1, 2, 3, 4, 5)
    assert one.num_retired("chain") == 0  # it is still the first epoch
    assert epoch_of(one) == names(0, 2, 3, 5)
    assert (one.pool_size("chain"), one.num_retired("chain"), one.epoch("chain")) == (4, 2, 1)
    assert epoch_of(one) == names(0, 2, 3, 5)


def test_a_prompt_that_becomes_easy_stays_until_its_epoch_is_over():
    one = curriculum(num=4, share=1)
    first = drawn(one, 2)
    for name in names(0, 1, 2, 3):
        one.record(name, 10, 10)
    assert sorted(first + drawn(one, 2)) == names(0, 1, 2, 3)


def test_a_rate_of_exactly_the_threshold_is_easy():
    for num_judged in range(10, 2000, 10):
        one = curriculum(num=2, share=1)
        drawn(one, 2)
        one.record("chain/000", num_judged * 9 // 10, num_judged)
        one.record("chain/001", num_judged * 9 // 10 - 1, num_judged)
        assert epoch_of(one) == ["chain/001"], num_judged


@pytest.mark.parametrize(("history", "staying"), [("mean", [0, 2]), ("last", [1, 2])])
def test_history_is_all_visits_or_the_last(history, staying):
    # 0: 6 of 16 then 4 of 4 is a mean of 0.5; 1: 40 of 40 then 3 of 4 is a mean of 0.977.
    one = curriculum(num=3, share=1, history=history)
    drawn(one, 3)
    for name, passed, judged in [
        ("chain/000", 6, 16),
        ("chain/000", 4, 4),
        ("chain/001", 40, 40),
        ("chain/001", 3, 4),
    ]:
        one.record(name, passed, judged)
    assert epoch_of(one) == names(*staying)


def test_a_visit_of_which_nothing_could_be_judged_says_nothing():
    one = curriculum(num=3, share=1, history="last")
    drawn(one, 3)
    one.record("chain/000", 10, 10)
    one.record("chain/000", 0, 0)
    one.record("chain/001", 0, 0)
    assert epoch_of(one) == names(1, 2)


def test_a_share_of_a_batch_stays_with_the_lowest_last_pass_rates():
    one = Curriculum(prompts(6)[::-1], {"chain": 3}, sections.Curriculum(), seed=0)
    drawn(one, 6)
    for name, passed in zip(names(0, 1, 2, 3, 4), [99, 100, 95, 95, 95], strict=True):
        one.record(name, passed, 100)
    one.record("chain/005", 5, 10)
    assert epoch_of(one) == names(2, 3, 5)  # 5 is not easy; 2 and 3 before 4 by id


def test_the_last_visit_decides_who_stays_even_where_the_mean_decides_who_is_easy():
    one = curriculum(num=3, share=1, history="mean")
    drawn(one, 3)
    for name, first, last in [("chain/000", 900, 100), ("chain/001", 990, 95), ("chain/002", 1000, 100)]:
        one.record(name, first, 1000)
        one.record(name, last, 100)
    assert epoch_of(one) == names(1)


def test_a_prompt_that_stayed_and_fell_back_is_hard_again():
    one = curriculum(num=2, share=1)
    assert epoch_of(one, {"chain/000": 9, "chain/001": 10}) == names(0, 1)
    assert epoch_of(one, {"chain/000": 0}) == names(0)
    one.record("chain/001", 0, 10)  # a group of the first epoch that was late
    assert epoch_of(one) == names(0, 1)


def test_a_pool_smaller_than_its_share_is_asked_again_and_again():
    one = curriculum(num=2, share=5)
    assert epoch_of(one, {"chain/000": 10, "chain/001": 10}) == names(0, 1)
    assert epoch_of(one) == names(0, 1)


def test_nothing_is_left_out_without_the_rule():
    one = curriculum(num=4, share=1, no_positive_resampling=False)
    epoch_of(one, dict.fromkeys(names(0, 1, 2, 3), 10))
    assert epoch_of(one) == names(0, 1, 2, 3)


def test_the_same_prompt_twice_in_a_batch_is_two_groups():
    one = curriculum(num=3, share=8)
    staleness = Staleness("pipeline", 1, {"chain": 8})
    groups = {}
    while staleness.may_admit():
        ticket = staleness.admit()
        groups[ticket.number] = one.draw(ticket.task).id
    again = Staleness("pipeline", 1, {"chain": 8})
    again.restore(staleness.state())
    for number in groups:
        again.hand_over(number)
    batch = [ticket.number for ticket in again.take()]
    assert len({groups[number] for number in batch}) == 3
    assert (
        len({seed_of(0, "rollout", groups[number], number, sample) for number in batch for sample in range(4)})
        == 32
    )
    again.updated()
    assert again.admit().number not in groups  # nor is a number given twice after a resume


def test_each_task_has_epochs_and_a_pool_of_its_own():
    both = Curriculum(
        prompts(4, "maths") + prompts(9, "code"), {"maths": 2, "code": 1}, sections.Curriculum(), seed=0
    )
    alone = Curriculum(prompts(4, "maths"), {"maths": 2}, sections.Curriculum(), seed=0)
    seen = []
    for _ in range(8):
        seen += drawn(both, 2, "maths")
        drawn(both, 1, "code")
    assert seen == drawn(alone, 16, "maths")
    assert (both.epoch("maths"), both.epoch("code")) == (3, 0)
    epoch_of(both, {"maths/000": 10, "maths/001": 10, "maths/002": 10}, "maths")
    assert (both.num_retired("maths"), both.num_retired("code")) == (0, 0)
    both.draw("maths")
    assert (both.pool_size("maths"), both.num_retired("maths"), both.pool_size("code")) == (2, 2, 9)


def test_draws_hold_the_shares_in_every_batch():
    staleness = Staleness("pipeline", 3, {"maths": 6, "code": 3, "chain": 1})
    tasks = [staleness.admit().task for _ in range(40)]
    assert tasks == tasks[:10] * 4
    assert all(Counter(tasks[start : start + 10]) == {"maths": 6, "code": 3, "chain": 1} for start in range(31))


@given(
    seed=st.integers(0, 2**40),
    num=st.integers(1, 12),
    share=st.integers(1, 6),
    history=st.sampled_from(["mean", "last"]),
    cut=st.integers(0, 60),
    outcomes=st.lists(st.integers(0, 3), min_size=60, max_size=60),
    delay=st.integers(0, 8),
)
def test_a_resume_goes_on_as_if_nothing_had_happened(seed, num, share, history, cut, outcomes, delay):
    def play(one, visits, start):
        """Draw, and record each visit a few draws later, as a run with groups in flight does."""
        for place in range(start, len(outcomes)):
            visits.append(one.draw("chain").id)
            if place >= delay:
                one.record(visits[place - delay], outcomes[place], 3)
            yield
        assert one.pool_size("chain") >= min(num, share)

    whole, seen = curriculum(num, share, seed, history=history), []
    list(play(whole, seen, 0))
    part, seen_again = curriculum(num, share, seed, history=history), []
    list(islice(play(part, seen_again, 0), cut))
    part = again(part, num, share, seed, history=history)
    list(play(part, seen_again, cut))
    assert seen_again == seen
    assert part.state() == whole.state()


@given(
    num=st.integers(1, 8),
    share=st.integers(1, 4),
    history=st.sampled_from(["mean", "last"]),
    outcomes=st.lists(st.lists(st.integers(0, 10), min_size=8, max_size=8), min_size=1, max_size=5),
)
def test_who_stays_agrees_with_a_plain_list(num, share, history, outcomes):
    one = curriculum(num, share, history=history)
    visits = {name: [] for name in names(*range(num))}
    pool = sorted(visits)
    for outcome in outcomes:
        rates = dict(zip(sorted(visits), outcome, strict=False))
        assert epoch_of(one, rates) == pool
        for name in pool:
            visits[name].append(rates[name])
        hard = [
            name
            for name, seen in visits.items()
            if (sum(seen) < 9 * len(seen) if history == "mean" else seen[-1] < 9)
        ]
        others = sorted((name for name in visits if name not in hard), key=lambda name: (visits[name][-1], name))
        pool = sorted(hard + others[: max(0, share - len(hard))])


def test_a_resume_with_other_prompts_is_refused():
    one = curriculum(num=10)
    drawn(one, 10)
    with pytest.raises(InputError, match=r"chain/00[89]"):
        again(one, num=8)
    with pytest.raises(InputError, match="prompts of task 'chain'"):
        again(one, num=11)
    other = Curriculum(prompts(10, "maths"), {"maths": 3}, sections.Curriculum(), seed=0)
    with pytest.raises(InputError, match="tasks"):
        other.restore(curriculum().state())


def test_prompts_that_cannot_be_told_apart_are_refused():
    with pytest.raises(InputError, match="'chain/000'"):
        Curriculum(prompts(3) + prompts(2), {"chain": 1}, sections.Curriculum(), seed=0)
    with pytest.raises(InputError, match=r"'code'.*'chain'"):
        Curriculum(prompts(3) + prompts(2, "code"), {"chain": 1}, sections.Curriculum(), seed=0)
    with pytest.raises(InputError, match="'code' has no training prompts"):
        Curriculum(prompts(3), {"chain": 1, "code": 1}, sections.Curriculum(), seed=0)
