import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.objective.advantage import advantages

rewards = st.lists(st.floats(-2, 1, width=16), min_size=2, max_size=6).map(np.array)
tables = st.lists(rewards, min_size=1, max_size=5)


def test_none_is_reward_less_group_mean():
    found = advantages([np.array([1.0, -1, -1, -1]), np.array([1.0, 0])], "none")
    np.testing.assert_allclose(found[0], [1.5, -0.5, -0.5, -0.5])
    np.testing.assert_allclose(found[1], [0.5, -0.5])


def test_prompt_divides_by_the_groups_own_population_deviation():
    # Centred 1.5 and three times -0.5: variance (2.25 + 0.75) / 4 = 0.75.
    found = advantages([np.array([1.0, -1, -1, -1]), np.array([1.0, 0])], "prompt")
    np.testing.assert_allclose(found[0], np.array([1.5, -0.5, -0.5, -0.5]) / (0.75**0.5 + 1e-6))
    np.testing.assert_allclose(found[1], np.array([0.5, -0.5]) / (0.5 + 1e-6))


def test_batch_divides_by_one_population_deviation_over_all_rollouts():
    # Squares 2.25 + 3 x 0.25 + 2 x 0.25 = 3.5 over six rollouts.
    found = advantages([np.array([1.0, -1, -1, -1]), np.array([1.0, 0])], "batch")
    np.testing.assert_allclose(np.concatenate(found), np.array([3, -1, -1, -1, 1, -1]) / 2 / (3.5 / 6) ** 0.5)


@pytest.mark.parametrize("scale", ["batch", "prompt", "none"])
def test_flat_groups_have_advantages_of_exactly_zero(scale):
    """0.1 + 0.1 + 0.1 is not 0.3: the rounded mean of equal rewards must not become a signal."""
    for found in (advantages([np.full(3, 0.1)], scale), advantages([np.full(3, 0.1), np.array([1.0, -1])], scale)):
        assert found[0].tolist() == [0, 0, 0]
    assert advantages([], scale) == []


@given(tables)
def test_batch_scale_gives_unit_deviation_and_no_mean(table):
    found = np.concatenate(advantages(table, "batch"))
    if all(len(set(one.tolist())) == 1 for one in table):
        assert not found.any()
    else:
        assert np.std(found) == pytest.approx(1, rel=1e-6)
        assert np.mean(found) == pytest.approx(0, abs=1e-9)


@given(tables, st.sampled_from(["batch", "prompt", "none"]))
def test_no_scale_changes_a_sign_or_what_a_group_sums_to(table, scale):
    for one, found in zip(table, advantages(table, scale), strict=True):
        centred = one - one.mean()
        is_clear = np.abs(centred) > 1e-12
        assert np.array_equal(np.sign(found[is_clear]), np.sign(centred[is_clear]))
        assert found.sum() == pytest.approx(0, abs=1e-6)


@given(tables, st.floats(0.25, 4), st.floats(-3, 3))
def test_batch_scale_does_not_know_the_unit_of_rewards(table, unit, shift):
    moved = advantages([one * unit + shift for one in table], "batch")
    if max(np.ptp(one) for one in table) > 1e-3:
        np.testing.assert_allclose(np.concatenate(moved), np.concatenate(advantages(table, "batch")), atol=1e-6)
