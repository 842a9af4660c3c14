import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.objective.selection import counted, select
from scalerl.recipe.sections import Objective


def rewards_of(selection):
    return [one.rewards.tolist() for one in selection.survivors]


def test_flat_groups_are_dropped_and_counted_by_why(rollout, group):
    groups = [
        group(3, [rollout(1), rollout(-1)]),
        group(0, [rollout(1), rollout(1)]),
        group(1, [rollout(-1), rollout(-1)]),
        group(2, [rollout(0), rollout(0)]),  # equal scores of one half: neither right; they count as wrong
    ]
    found = select(groups, Objective())
    assert rewards_of(found) == [[1, -1]]
    assert (found.num_groups, found.num_surviving, found.num_rollouts) == (4, 1, 2)
    assert (found.num_all_right, found.num_all_wrong, found.num_flat_otherwise) == (1, 2, 0)
    assert not found.is_flat


def test_kept_flat_groups_survive_but_teach_nothing(rollout, group):
    found = select([group(0, [rollout(1), rollout(1)]), group(1, [rollout(-1)])], Objective(zero_variance="keep"))
    assert rewards_of(found) == [[1, 1], [-1]]
    assert found.is_flat and found.num_flat == 2 and found.num_flat_otherwise == 1


def test_survivors_stand_in_the_order_of_admission(rollout, group):
    groups = [group(admission, [rollout(1), rollout(-1)]) for admission in (7, 2, 5)]
    assert [one.group.admission for one in select(groups, Objective()).survivors] == [2, 5, 7]


def test_a_judge_error_is_left_out_and_counted(rollout, group):
    found = select([group(0, [rollout(1), rollout(0, error="sandbox died"), rollout(-1)])], Objective())
    assert rewards_of(found) == [[1, -1]] and found.num_errors == 1 and found.num_truncated_dropped == 0


def test_an_error_can_leave_a_group_flat(rollout, group):
    found = select([group(0, [rollout(1), rollout(-1, error="sandbox died")])], Objective())
    assert found.is_flat and found.num_flat_otherwise == 1 and not found.survivors


@pytest.mark.parametrize(
    ("truncated", "expected", "num_dropped"),
    [("drop", [1, -1], 1), ("keep", [1, -1, 0.5], 0), ("fail", [1, -1, -1], 0)],
)
def test_what_happens_to_truncated_rollouts(rollout, group, truncated, expected, num_dropped):
    cut = rollout(0.5, ending="truncated")
    found = select([group(0, [rollout(1), rollout(-1), cut])], Objective(truncated=truncated))
    assert rewards_of(found) == [expected] and found.num_truncated_dropped == num_dropped
    assert cut.reward == 0.5, "a field never changes meaning: the rollout itself is left alone"


def test_flatness_is_tested_after_truncated_rollouts_are_dropped(rollout, group):
    rollouts = [rollout(1), rollout(1), rollout(-1, ending="truncated")]
    assert select([group(0, rollouts)], Objective(truncated="drop")).num_all_right == 1
    assert not select([group(0, rollouts)], Objective(truncated="keep")).is_flat


def test_failing_them_can_make_a_group_flat(rollout, group):
    rollouts = [rollout(-1), rollout(0.5, ending="truncated")]
    assert select([group(0, rollouts)], Objective(truncated="fail")).num_all_wrong == 1


def test_a_group_with_one_left_is_flat_and_with_none_cannot_be_kept(rollout, group):
    one_left = group(0, [rollout(1), rollout(-1, ending="truncated")])
    none_left = group(1, [rollout(-1, ending="truncated")] * 2)
    assert select([one_left, none_left], Objective()).num_flat_otherwise == 2
    assert rewards_of(select([one_left, none_left], Objective(zero_variance="keep"))) == [[1]]


def test_a_truncated_answer_never_counts_as_right(rollout, group):
    """A judge may pass what it can read of a truncated answer; all right is said of finished answers."""
    rollouts = [rollout(1, ending="truncated")] * 2
    assert select([group(0, rollouts)], Objective(truncated="keep")).num_all_wrong == 1


def test_nothing_at_all_is_flat():
    assert select([], Objective()).is_flat


def test_a_judged_answer_without_reward_is_refused(rollout, group):
    with pytest.raises(InputError, match="chain/1 has a judged answer whose reward is not a number"):
        counted(group(0, [rollout(1), rollout(float("nan"))]), "drop")


@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=5), max_size=8))
def test_every_group_is_either_dropped_for_one_reason_or_survives(rollout, group, table):
    groups = [group(index, [rollout(reward) for reward in rewards]) for index, rewards in enumerate(table)]
    found = select(groups, Objective())
    assert found.num_flat + found.num_surviving == found.num_groups == len(table)
    assert all(np.std(one.rewards) > 0 for one in found.survivors)
    assert found.is_flat == all(len(set(rewards)) == 1 for rewards in table)
