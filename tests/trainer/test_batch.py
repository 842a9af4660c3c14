import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.objective.selection import select
from scalerl.recipe.sections import Objective
from scalerl.trainer.batch import micro_batches, rows_of


def rows_in(groups, objective=None):
    objective = objective or Objective()
    return rows_of(select(groups, objective), objective)


def test_a_row_holds_prompt_answer_advantage_and_weight(rollout, group):
    groups = [group(0, [rollout([3, 4, 5], 1.0), rollout([6], -1.0)]), group(1, [rollout([7], 1.0)] * 2)]
    one, other = rows_in(groups)
    assert one.tokens.tolist() == [1, 2, 3, 4, 5] and other.tokens.tolist() == [1, 2, 6]
    assert (one.num_prompt_tokens, one.group, one.num_trainable) == (2, 0, 3)
    assert (one.advantage, other.advantage) == pytest.approx((1, -1))
    assert one.weight == other.weight == pytest.approx(1 / 4)


def test_a_rollout_without_trainable_token_shapes_its_group_but_has_no_row(rollout, group):
    mute = rollout([5, 6], -1.0, is_trainable=np.zeros(2, bool))
    found = rows_in([group(0, [rollout([3], 1.0), rollout([4], 1.0), mute])], Objective(advantage_scale="none"))
    assert [row.advantage for row in found] == pytest.approx([2 / 3, 2 / 3])
    assert [row.weight for row in found] == [1 / 2, 1 / 2]


def test_a_micro_batch_by_hand(rollout, group):
    long = rollout([3, 4, 5], 1.0, is_trainable=np.array([True, False, True]), behavior=np.float32([-1, 0, -3]))
    short = rollout([6], -1.0, behavior=np.float32([-4]))
    (found,) = micro_batches(rows_in([group(0, [short, long])]), 100)
    assert found.tokens.tolist() == [[1, 2, 3, 4], [1, 2, 6, 0]], (
        "the last word of the longest row predicts nothing"
    )
    assert found.target.tolist() == [3, 5, 6]
    assert found.source.tolist() == [1, 3, 4 + 1], "each is predicted one place before it"
    assert found.rollout.tolist() == [0, 0, 1]
    assert found.behavior.tolist() == [-1, -3, -4]
    assert found.advantage.tolist() == [1, 1, -1]
    assert found.order.tolist() == [1, 2, 0], "the short rollout comes first in the step"
    np.testing.assert_allclose(found.weight, 1 / 3)


def test_longest_first_and_ties_in_order(batch):
    rows = rows_in(batch(seed=1, num_groups=6))
    sizes = [one.tokens.shape for one in micro_batches(rows, 1)]
    assert [rows_of_one for rows_of_one, _ in sizes] == [1] * len(rows), "a row longer than the budget goes alone"
    widths = [width for _, width in sizes]
    assert widths == sorted((len(row.tokens) - 1 for row in rows), reverse=True)


@given(st.integers(0, 50), st.integers(1, 120))
def test_every_trainable_token_is_in_exactly_one_micro_batch(batch, seed, max_tokens):
    rows = rows_in(batch(seed=seed))
    found = list(micro_batches(rows, max_tokens))
    for one in found:
        num_rows, width = one.tokens.shape
        assert num_rows == 1 or num_rows * (width + 1) <= max_tokens, "the budget holds, padding included"
        assert one.rollout.max() < len(one.rollout), "as the loss over whole rollouts asks for"
    order = np.concatenate([one.order for one in found])
    assert np.array_equal(np.sort(order), np.arange(sum(row.num_trainable for row in rows)))
    for name, of_rows in {
        "target": [row.tokens[row.num_prompt_tokens :][row.is_trainable] for row in rows],
        "behavior": [row.behavior[row.is_trainable] for row in rows],
        "weight": [np.full(row.num_trainable, row.weight, np.float32) for row in rows],
        "advantage": [np.full(row.num_trainable, row.advantage, np.float32) for row in rows],
    }.items():
        back = np.concatenate([getattr(one, name) for one in found])[np.argsort(order)]
        assert np.array_equal(back, np.concatenate(of_rows)), name


def test_rows_do_not_depend_on_the_order_in_which_groups_arrive(batch):
    groups = batch(seed=2)
    for one, other in zip(rows_in(groups), rows_in(groups[::-1]), strict=True):
        assert np.array_equal(one.tokens, other.tokens)
        assert (one.weight, one.advantage) == (other.weight, other.advantage)


def test_a_prompt_without_tokens_is_our_mistake(rollout, group):
    with pytest.raises(AssertionError, match="nothing would predict"):
        rows_in([group(0, [rollout([3], 1.0), rollout([4], -1.0)], prompt_tokens=())])
