import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_curves import SIGMOID, TABLE_1
from scipy import optimize

from scalerl.scaling.curve import Curve
from scalerl.scaling.law import LAWS, law
from scalerl.scaling.least_squares import least_squares
from scalerl.scaling.noise import noise
from scalerl.scaling.squared_error import Moments, best_levels


def noisy(compute, value, num_samples, seed):
    rate = np.random.default_rng(seed).binomial(num_samples, value) / num_samples
    return Curve.of(compute, rate, unit="gpu_hours", num_samples=num_samples)


@pytest.mark.parametrize(("midpoint", "efficiency", "ceiling"), TABLE_1.values())
def test_noiseless_curves_of_the_paper_are_found(midpoint, efficiency, ceiling):
    compute = np.linspace(0, 5 * midpoint, 75)
    value = SIGMOID(compute, ceiling=ceiling, rate=efficiency, place=midpoint, start=0.3)
    best = least_squares(Curve.of(compute, value, unit="gpu_hours", num_samples=16_000), SIGMOID).best
    found = [best.ceiling, best.rate, best.place, best.start]
    np.testing.assert_allclose(found, [ceiling, efficiency, midpoint, 0.3], rtol=1e-6)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_curve_fit(name, seed):
    chosen = law(name)
    compute = np.linspace(100, 10_000, 50)
    place = 100.0 if name == "power" else 2500.0
    truth = [0.6, 0.3, 1.5, place]
    curve = noisy(compute, chosen(compute, ceiling=0.6, start=0.3, rate=1.5, place=place), 16_000, seed)
    is_free = [True, True, chosen.rate is not None, chosen.is_place_free]

    def whole(free):
        numbers = np.array(truth)
        numbers[is_free] = free
        return dict(zip(("ceiling", "start", "rate", "place"), numbers, strict=True))

    oracle, _ = optimize.curve_fit(
        lambda x, *free: chosen(x, **whole(free)),
        curve.compute,
        curve.value,
        p0=np.array(truth)[is_free],
        sigma=np.sqrt(noise(curve).variance),
        xtol=1e-12,
        ftol=1e-12,
    )
    best = least_squares(curve, chosen).best
    found = np.array([best.ceiling, best.start, best.rate, best.place])[is_free]
    np.testing.assert_allclose(found, oracle, rtol=1e-4)


@settings(max_examples=200)
@given(
    share=st.lists(st.floats(0, 1), min_size=5, max_size=5),
    value=st.lists(st.floats(0, 1), min_size=5, max_size=5),
    weight=st.lists(st.floats(0.1, 10), min_size=5, max_size=5),
)
def test_levels_are_the_bounded_optimum(share, value, weight):
    s, y, w = np.array(share), np.array(value), np.array(weight)
    moments = Moments.of(s[None], y, w)
    start, ceiling = best_levels(moments)
    oracle = optimize.lsq_linear(np.sqrt(w)[:, None] * np.stack([1 - s, s], axis=1), np.sqrt(w) * y, (0, 1))
    error = moments.squared_error(start, ceiling)[0]
    assert 0 <= start[0] <= 1
    assert 0 <= ceiling[0] <= 1
    assert error == pytest.approx(np.sum(w * (y - start - (ceiling - start) * s) ** 2), abs=1e-10)
    assert error <= 2 * oracle.cost + 1e-9


@pytest.mark.parametrize("scale", [1e-12, 1e25])
def test_the_unit_does_not_matter(scale):
    compute = np.linspace(0, 5, 30)
    value = SIGMOID(compute, ceiling=0.6, rate=1.7, place=1.5, start=0.2)
    best = least_squares(Curve.of(compute * scale, value, unit="flops"), SIGMOID).best
    np.testing.assert_allclose([best.ceiling, best.rate, best.place / scale], [0.6, 1.7, 1.5], rtol=1e-6)


SHAPES = {
    "constant": np.full(6, 0.5),
    "zero": np.zeros(6),
    "one": np.ones(6),
    "falling": np.linspace(0.9, 0.1, 6),
    "steep": np.linspace(0, 1, 6),
    "step": np.array([0.2, 0.2, 0.2, 0.7, 0.7, 0.7]),
    "scatter": np.array([0.3, 0.9, 0.1, 0.6, 0.2, 0.8]),
}
COMPUTES = {
    "from zero": np.arange(6.0),
    "a narrow window": 1e6 + np.arange(6.0),
    "30 decades": np.geomspace(1e-12, 1e18, 6) * (1 - 1e-9 * np.arange(6)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("value", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("compute", COMPUTES.values(), ids=COMPUTES)
def test_no_curve_is_too_odd(name, value, compute):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for num, num_samples, ceiling in ((3, None, None), (6, 16_000, None), (6, None, 0.6)):
            curve = Curve.of(compute[:num], value[:num], unit="steps", num_samples=num_samples)
            draws = least_squares(curve, law(name), ceiling=ceiling)
            levels = np.stack([draws.start, draws.ceiling])
            assert np.isfinite([draws.rate, draws.place]).all()
            assert (levels >= 0).all()
            assert (levels <= 1).all()
            assert ceiling is None or (draws.ceiling == ceiling).all()


def test_the_power_law_leaves_zero_compute_out():
    compute = np.array([0.0, 10, 20, 40, 80, 160])
    value = np.r_[0.05, law("power")(compute[1:], ceiling=0.7, rate=0.8, place=10, start=0.3)]
    best = least_squares(Curve.of(compute, value, unit="steps"), law("power")).best
    np.testing.assert_allclose([best.ceiling, best.rate, best.place, best.start], [0.7, 0.8, 10, 0.3], rtol=1e-6)


def test_points_with_more_samples_weigh_more():
    compute = np.arange(1.0, 9)
    value = np.where(np.arange(8) < 4, 0.4, 0.6)
    many_first = np.where(np.arange(8) % 2 == 0, 100_000, 10)
    odd = value + np.where(np.arange(8) % 2 == 0, 0, 0.1)  # the points with few samples lie higher
    weighted = least_squares(Curve.of(compute, odd, unit="steps", num_samples=many_first), SIGMOID).best
    plain = least_squares(Curve.of(compute, odd, unit="steps"), SIGMOID).best
    assert weighted.ceiling == pytest.approx(0.6, abs=0.001)
    assert plain.ceiling > 0.64


def test_intervals_cover_the_truth():
    compute = np.linspace(0, 2, 40)
    value = SIGMOID(compute, ceiling=0.61, rate=1.9, place=1, start=0.3)
    num_covered = np.zeros(3)
    for seed in range(60):
        draws = least_squares(noisy(compute, value, 16_000, seed), SIGMOID)
        low, high = np.quantile([draws.ceiling, draws.rate, draws.place], [0.05, 0.95], axis=1)
        num_covered += (low <= [0.61, 1.9, 1]) & (high >= [0.61, 1.9, 1])
    # 54 of 60 are expected; fewer than 47 or all of them would be a one-in-500 accident
    assert (num_covered >= 47).all()
    assert (num_covered <= 59).all()


def test_draws_repeat_and_two_runs_are_unrelated():
    compute = np.linspace(0, 5, 40)
    value = SIGMOID(compute, ceiling=0.61, rate=1.9, place=1, start=0.3)
    one, other = (least_squares(noisy(compute, value, 16_000, seed), SIGMOID) for seed in (1, 2))
    again = least_squares(noisy(compute, value, 16_000, 1), SIGMOID)
    np.testing.assert_array_equal(one.ceiling, again.ceiling)
    assert len(one) == 1000
    assert abs(np.corrcoef(one.ceiling, other.ceiling)[0, 1]) < 0.1
    assert one.strays is None


def long_run(start, since, until):
    """The paper's run of 100,000 GPU-hours (bs2048), evaluated 75 times, cut to a window."""
    compute = np.linspace(0, 100_000, 75)[1:]
    value = SIGMOID(compute, ceiling=0.645, rate=1.70, place=10_909, start=start)
    return Curve.of(compute, value, unit="gpu_hours", num_samples=16_000).between(since, until)


@pytest.mark.parametrize("start", [0.2, 0.3, 0.4])
def test_the_power_law_misses_the_ceiling_where_the_sigmoid_does_not(start):
    # Paper A.4: the power law ends at 1.0 on 1.5k-50k and at 0.74 on 5k-50k, the sigmoid at 0.645 on both;
    # only a window of about 30k-60k brings the power law near.
    power = law("power")
    assert least_squares(long_run(start, 1500, 50_000), power).best.ceiling == 1.0
    assert 0.70 < least_squares(long_run(start, 5000, 50_000), power).best.ceiling < 0.82
    assert least_squares(long_run(start, 30_000, 60_000), power).best.ceiling == pytest.approx(0.645, abs=0.005)
    for since in (1500, 5000):
        best = least_squares(long_run(start, since, 50_000), SIGMOID).best
        assert best.ceiling == pytest.approx(0.645, abs=1e-6)


def test_the_power_laws_wrong_ceiling_is_the_printed_one():
    # The paper prints no R_0; 0.38 gives both of its numbers.
    best = least_squares(long_run(0.38, 5000, 50_000), law("power")).best
    assert best.ceiling == pytest.approx(0.74, abs=0.005)
    assert least_squares(long_run(0.38, 1500, 50_000), law("power")).best.ceiling == 1.0


@pytest.mark.parametrize(
    ("ceiling", "low", "high"),
    [(0.605, 1.97, 2.11), (0.6, 2.03, 2.33), (0.645, 1.16, 1.63), (0.685, 0.86, 1.41)],
)
def test_an_imposed_ceiling_moves_the_efficiency(ceiling, low, high):
    # ScaleRL refitted with a ceiling that is not its own 0.610, start measured; the ranges hold to 0.03.
    for start in (0.2, 0.3, 0.4):
        for last in (8000, 16_000):
            compute = np.r_[0, np.linspace(1500, last, 45)]
            value = SIGMOID(compute, ceiling=0.61, rate=1.92, place=2542, start=start)
            curve = Curve.of(compute, value, unit="gpu_hours", num_samples=16_000)
            assert low - 0.03 <= least_squares(curve, SIGMOID, ceiling=ceiling).best.rate <= high + 0.03
