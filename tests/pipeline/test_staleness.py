"""Lag stays within its bound by admission and order alone: small cases worked out by hand."""

import json
import random

import pytest

from scalerl.errors import InputError
from scalerl.pipeline.staleness import Staleness


def pipeline(k, batch, ahead=0):
    return Staleness("pipeline", k, {"chain": batch}, ahead)


def phased(k, batch):
    return Staleness("phased", k, {"chain": batch})


def fill(staleness):
    """Admit all that may start."""
    tickets = []
    while staleness.may_admit():
        tickets.append(staleness.admit())
    return [ticket.number for ticket in tickets]


def finish(staleness, *numbers):
    for number in numbers:
        staleness.hand_over(number)


def learn(staleness):
    """Take a batch and count its update."""
    batch = [ticket.number for ticket in staleness.take()]
    staleness.updated()
    return batch


def resumed(staleness):
    fresh = Staleness(staleness.kind, staleness.k, staleness.shares, staleness.ahead)
    fresh.restore(json.loads(json.dumps(staleness.state())))
    return fresh


def test_a_group_at_its_last_version_is_waited_for():
    staleness = pipeline(k=1, batch=1)
    assert fill(staleness) == [0, 1]
    finish(staleness, 1)
    assert learn(staleness) == [1]  # 0 is due by version 1: it can still come next
    assert fill(staleness) == [2]
    finish(staleness, 2)
    assert not staleness.may_take()  # now it can not
    finish(staleness, 0)
    assert learn(staleness) == [0]


def test_groups_that_would_fall_due_together_are_waited_for_in_time():
    # 0, 1 and 2 are due by version 2. With 2 gone, taking 3 at version 1 would leave two groups for the one update
    # at version 2. Waiting only for what is due at this very update sees nothing wrong, and gets stuck there.
    staleness = pipeline(k=2, batch=1)
    assert fill(staleness) == [0, 1, 2]
    finish(staleness, 2)
    assert learn(staleness) == [2]
    assert fill(staleness) == [3]
    finish(staleness, 3)
    assert not staleness.may_take()
    finish(staleness, 1)
    assert learn(staleness) == [1]
    assert not staleness.may_take()
    finish(staleness, 0)
    assert learn(staleness) == [0]
    assert learn(staleness) == [3]


def test_a_group_counts_until_its_update_is_made():
    # Admitted between take and updated, group 2 would still be of version 0, and three groups due by version 1.
    staleness = pipeline(k=1, batch=1)
    finish(staleness, *fill(staleness))
    staleness.take()
    assert not staleness.may_admit()
    assert not staleness.may_take()
    staleness.updated()
    assert staleness.admit().version == 1


def test_a_batch_is_the_earliest_finished_in_order_of_admission():
    staleness = pipeline(k=3, batch=3)
    assert fill(staleness) == list(range(12))
    finish(staleness, 9, 4, 7, 5, 1)
    assert learn(staleness) == [1, 4, 5]
    assert [ticket.number for ticket in staleness.finished] == [7, 9]
    assert len(staleness.in_flight) == 7


def test_the_largest_lag_is_k():
    staleness = pipeline(k=3, batch=2)
    lags = []
    for _ in range(12):
        finish(staleness, *fill(staleness))
        lags.append([staleness.version - ticket.version for ticket in staleness.take()])
        staleness.updated()
    assert lags == [[0, 0], [1, 1], [2, 2], *[[3, 3]] * 9]


def test_a_phase_is_generated_whole_and_used_up():
    staleness = phased(k=2, batch=2)
    assert fill(staleness) == [0, 1, 2, 3]
    finish(staleness, 3, 1, 2)
    assert not staleness.may_take()
    finish(staleness, 0)
    assert learn(staleness) == [0, 1]
    assert not staleness.may_admit()
    assert learn(staleness) == [2, 3]
    assert not staleness.may_take()
    assert fill(staleness) == [4, 5, 6, 7]
    assert {ticket.version for ticket in staleness.in_flight} == {2}


def test_a_group_lost_in_the_middle_of_a_phase_is_replaced():
    staleness = phased(k=2, batch=2)
    finish(staleness, *fill(staleness))
    learn(staleness)
    staleness.give_back(2)
    assert not staleness.may_take()
    assert fill(staleness) == [4]
    finish(staleness, 4)
    assert learn(staleness) == [3, 4]
    assert fill(staleness) == [5, 6, 7, 8]


def test_ahead_keeps_batches_finished_and_waiting():
    staleness = pipeline(k=2, batch=2, ahead=1)
    assert fill(staleness) == [0, 1, 2, 3, 4, 5]
    finish(staleness, 0, 1, 2)
    assert not staleness.may_take()
    finish(staleness, 5)
    assert learn(staleness) == [0, 1]
    assert not staleness.may_take()


def test_with_all_batches_ahead_every_lag_is_k_whatever_finishes_first():
    rng = random.Random(0)
    staleness = pipeline(k=8, batch=4, ahead=8)
    for _ in range(40):
        running = [*fill(staleness)]
        rng.shuffle(running)
        while not staleness.may_take():
            finish(staleness, running.pop())
        assert {staleness.version - ticket.version for ticket in staleness.take()} == {min(staleness.version, 8)}
        staleness.updated()


def test_a_failed_group_returns_its_ticket():
    staleness = pipeline(k=0, batch=2)
    assert fill(staleness) == [0, 1]
    finish(staleness, 0)
    staleness.give_back(1)
    assert fill(staleness) == [2]
    finish(staleness, 2)
    assert learn(staleness) == [0, 2]


def test_every_batch_holds_the_shares_whichever_task_is_faster():
    staleness = Staleness("pipeline", 2, {"maths": 2, "code": 1})
    tickets = [staleness.admit() for _ in range(9)]
    assert [ticket.task for ticket in tickets] == ["maths", "code", "maths"] * 3
    assert not staleness.may_admit()
    finish(staleness, *[ticket.number for ticket in tickets if ticket.task == "maths"])
    assert not staleness.may_take()
    finish(staleness, 7)
    assert [(ticket.number, ticket.task) for ticket in staleness.take()] == [
        (0, "maths"),
        (2, "maths"),
        (7, "code"),
    ]
    staleness.updated()
    staleness.give_back(1)
    assert [staleness.admit().task for _ in range(4)] == ["code", "maths", "code", "maths"]


def test_pipeline_with_none_is_phased_with_one():
    rng = random.Random(3)
    both = pipeline(k=0, batch=5), phased(k=1, batch=5)
    for _ in range(4000):
        states = [one.state() for one in both]
        assert states[0] | {"kind": "", "k": 0} == states[1] | {"kind": "", "k": 0}
        assert both[0].may_admit() == both[1].may_admit()
        assert both[0].may_take() == both[1].may_take()
        assert both[0].bound == both[1].bound == 0
        running = [ticket.number for ticket in both[0].in_flight]
        step, number = rng.random(), rng.choice(running or [0])
        for one in both:
            if one.may_take():
                learn(one)
            elif running and step < 0.6:
                one.hand_over(number)
            elif running and step < 0.7:
                one.give_back(number)
            elif one.may_admit():
                one.admit()
    assert both[0].version > 100


def test_a_resume_keeps_bound_numbers_and_finished_groups():
    staleness = pipeline(k=2, batch=1)
    fill(staleness)
    finish(staleness, 2)
    learn(staleness)
    fill(staleness)
    finish(staleness, 3)
    again = resumed(staleness)
    assert (again.version, again.in_flight, again.finished) == (1, staleness.in_flight, staleness.finished)
    assert not again.may_admit()
    assert not again.may_take()  # as before: 0 and 1 would fall due together
    finish(again, 1)
    assert learn(again) == [1]
    assert again.admit().number == 4


def test_an_update_being_made_counts_as_not_begun():
    staleness = pipeline(k=1, batch=2)
    finish(staleness, *fill(staleness))
    taken = staleness.take()
    again = resumed(staleness)
    assert again.version == 0
    assert again.take() == taken


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (pipeline(k=3, batch=2), "k 2"),
        (pipeline(k=2, batch=4), "shares"),
        (phased(k=2, batch=2), "'pipeline'"),
    ],
)
def test_a_resume_under_another_bound_is_refused(other, named):
    with pytest.raises(InputError, match=named):
        other.restore(pipeline(k=2, batch=2).state())


def test_a_state_that_cannot_keep_its_bound_is_refused():
    staleness = pipeline(k=2, batch=1)
    fill(staleness)
    with pytest.raises(InputError, match="'chain'"):
        pipeline(k=2, batch=1).restore(staleness.state() | {"version": 1})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("phased", 0, {"chain": 1}), "off_policy.k is 0"),
        (("phased", 2, {"chain": 1}, 1), "off_policy.ahead is 1"),
        (("pipeline", 2, {"chain": 1}, 3), "off_policy.ahead is 3"),
        (("pipeline", 2, {"chain": 0}), "shares"),
        (("pipeline", 2, {}), "shares"),
    ],
)
def test_impossible_choices_are_refused(arguments, named):
    with pytest.raises(InputError, match=named):
        Staleness(*arguments)


def test_misuse_is_an_assertion():
    staleness = pipeline(k=0, batch=1)
    with pytest.raises(AssertionError):
        staleness.take()
    with pytest.raises(AssertionError):
        staleness.updated()
    staleness.admit()
    with pytest.raises(AssertionError):
        staleness.admit()
    staleness.hand_over(0)
    with pytest.raises(AssertionError, match="handed over before"):
        staleness.hand_over(0)
    with pytest.raises(AssertionError, match="not outstanding"):
        staleness.give_back(1)
