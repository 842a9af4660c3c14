import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.scaling.law import LAWS, law

positive = st.floats(1e-6, 1e12)
rates = st.floats(0.05, 20)


def test_sigmoid_by_hand():
    # 1 / (1 + (1/2)^2) = 0.8 and 1 / (1 + 2^2) = 0.2 of a gain of 0.5
    values = law("sigmoid")([0.5, 1, 2], ceiling=0.6, rate=2, place=1, start=0.1)
    np.testing.assert_allclose(values, [0.2, 0.35, 0.5])


def test_power_by_hand():
    # 0.8 - 0.6 / C^0.5
    values = law("power")([1, 4, 9], ceiling=0.8, rate=0.5, place=1, start=0.2)
    np.testing.assert_allclose(values, [0.2, 0.5, 0.6])


def test_exponential_by_hand():
    values = law("exponential")([0, 3 * np.log(2), 3 * np.log(4)], ceiling=0.9, rate=1, place=3, start=0.1)
    np.testing.assert_allclose(values, [0.1, 0.5, 0.7])


def test_logistic_by_hand():
    # k = ln 3: 1 / (1 + 3) at zero, a half at the midpoint, 1 / (1 + 1/3) at twice the midpoint
    values = law("logistic")([0, 5, 10], ceiling=1.0, rate=np.log(3), place=5, start=0.2)
    np.testing.assert_allclose(values, [0.4, 0.6, 0.8])


@pytest.mark.parametrize(
    ("name", "at_zero"),
    [("sigmoid", 0), ("exponential", 0), ("logistic", 1 / (1 + np.exp(2))), ("power", -np.inf)],
)
def test_limits(name: str, at_zero: float):
    np.testing.assert_allclose(law(name).share([0.0, np.inf], 2.0, 10.0), [at_zero, 1.0])


@pytest.mark.parametrize("name", LAWS)
def test_extreme_compute_gives_no_warning(name: str):
    compute = np.array([0, 1e-300, 1e-12, 1.0, 1e25, 1e300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rate in (0.05, 1.0, 20.0):
            share = law(name).share(compute, rate, 1.0)
            assert not np.isnan(share).any()
            assert share[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("name", LAWS)
@given(one=positive, other=positive, rate=rates, place=positive)
def test_more_compute_is_never_worse(name: str, one: float, other: float, rate: float, place: float):
    low, high = law(name).share([min(one, other), max(one, other)], rate, place)
    assert low <= high <= 1


@given(rate=st.floats(0.5, 3), place=st.floats(1, 1e6))
def test_far_beyond_the_midpoint_the_sigmoid_is_a_power_law(rate: float, place: float):
    # Paper A.4: R ~ A - (A - R_0) C_mid^B / C^B, the power law that starts at (C_mid, R_0).
    compute = place * 1000 ** (1 / rate) * np.array([1, 3, 10])
    numbers = {"ceiling": 0.61, "rate": rate, "place": place, "start": 0.3}
    gap, same_gap = (0.61 - law(name)(compute, **numbers) for name in ("sigmoid", "power"))
    np.testing.assert_allclose(gap, same_gap, rtol=1.1e-3)


def test_parameters_are_named():
    assert law("sigmoid").parameters == ("ceiling", "efficiency", "midpoint", "start")
    assert law("exponential").parameters == ("ceiling", "scale", "start")
    assert [each.num_free for each in LAWS.values()] == [4, 3, 3, 4]


def test_an_unknown_law_is_told():
    with pytest.raises(InputError, match="'cubic'; expected one of sigmoid, power, exponential, logistic"):
        law("cubic")
