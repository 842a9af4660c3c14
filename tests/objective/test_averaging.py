import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scalerl.objective.averaging import token_weights

tables = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4).map(np.array), min_size=1, max_size=5)


def counts(*table):
    return [np.array(one, np.int64) for one in table]


def test_weights_worked_out_by_hand():
    table = counts([1, 9], [2, 3])
    for averaging, expected in {
        "prompt": [[1 / 20, 1 / 20], [1 / 10, 1 / 10]],
        "sample": [[1 / 4, 1 / 36], [1 / 8, 1 / 12]],
        "token": [[1 / 15, 1 / 15], [1 / 15, 1 / 15]],
    }.items():
        np.testing.assert_allclose(token_weights(table, averaging), expected)


def test_what_has_no_trainable_token_is_in_no_divisor():
    table = counts([4, 0], [0, 0], [2, 2])
    for averaging, expected in {
        "prompt": [[1 / 8, 0], [0, 0], [1 / 8, 1 / 8]],
        "sample": [[1 / 8, 0], [0, 0], [1 / 8, 1 / 8]],
        "token": [[1 / 8, 0], [0, 0], [1 / 8, 1 / 8]],
    }.items():
        np.testing.assert_allclose(token_weights(table, averaging), expected)


@given(tables, st.integers(0, 2**32 - 1))
def test_weighted_sums_are_the_means_they_are_named_after(table, seed):
    """Against the definition, written as nested means over every token."""
    draw = np.random.default_rng(seed)
    losses = [[draw.normal(size=count) for count in one] for one in table]
    full = [[one for one in each if len(one)] for each in losses]
    full = [one for one in full if one]
    assume(full)
    expected = {
        "prompt": np.mean([np.mean(np.concatenate(one)) for one in full]),
        "sample": np.mean([np.mean([np.mean(each) for each in one]) for one in full]),
        "token": np.mean(np.concatenate([each for one in full for each in one])),
    }
    for averaging, mean in expected.items():
        weights = token_weights(table, averaging)
        pairs = zip(np.concatenate(weights), [each for one in losses for each in one], strict=True)
        assert sum(weight * each.sum() for weight, each in pairs) == pytest.approx(mean, abs=1e-9)
