"""Whatever the curve, there is a result or a clear refusal: no exception, no NaN, no inverted band."""

import math
import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalerl import Curve, InputError, budget, fit, forecast
from scalerl.scaling.fit import METHODS
from scalerl.scaling.law import LAWS

METHOD_AND_LAW = [(method, law) for method in METHODS for law in LAWS if method != "paper" or law == "sigmoid"]


@st.composite
def values(draw, num):
    level = st.floats(0, 1, allow_nan=False)
    kind = draw(
        st.sampled_from(["any", "constant", "two levels", "falling", "rising", "spike", "sigmoid", "lattice"])
    )
    if kind == "constant":
        return [draw(level)] * num
    if kind == "two levels":
        low, high, at = draw(level), draw(level), draw(st.integers(0, num))
        return [low] * at + [high] * (num - at)
    if kind == "spike":
        base, top, at = draw(level), draw(level), draw(st.integers(0, num - 1))
        return [top if place == at else base for place in range(num)]
    if kind == "sigmoid":
        start, ceiling, rate, place = draw(level), draw(level), draw(st.floats(0.1, 8)), draw(st.floats(0.01, 10))
        return [start + (ceiling - start) / (1 + (place / x) ** rate) for x in np.linspace(1 / num, 1, num)]
    found = draw(st.lists(level, min_size=num, max_size=num))
    if kind == "lattice":
        return [round(value * 4) / 4 for value in found]
    return sorted(found, reverse=kind == "falling") if kind in ("falling", "rising") else found


@st.composite
def curves(draw):
    num = draw(st.one_of(st.integers(1, 12), st.integers(13, 300)))
    scale = 10 ** draw(st.floats(-30, 30))
    kind = draw(st.sampled_from(["even", "log", "any", "repeated"]))
    compute = np.arange(num, dtype=float)
    if kind == "log":
        compute = np.logspace(0, draw(st.floats(0.1, 12)), num)
    elif kind == "any":
        compute = np.array(draw(st.lists(st.floats(0, 1e6), min_size=num, max_size=num)))
        compute = np.sort(compute)
    elif kind == "repeated":
        compute = np.full(num, draw(st.floats(0, 10)))
    if draw(st.booleans()):
        compute = compute[:num] + 1
    samples = draw(st.sampled_from([None, 1, 16, 500, 16_000, 10**9]))
    return Curve.of(compute * scale, draw(values(num)), unit="flops", num_samples=samples)


def check(number, low=-math.inf, high=math.inf):
    assert math.isfinite(number) and low <= number <= high, number


@given(st.data())
def test_every_curve_gives_a_result_or_a_clear_refusal(data):
    method, law = data.draw(st.sampled_from(METHOD_AND_LAW + [("posterior", "sigmoid")] * 12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            curve = data.draw(curves())
            fitted = fit(curve, law=law, method=method)
        except InputError as refusal:
            assert "expected" in str(refusal) or "must rise" in str(refusal), refusal
            return
        for name, part in fitted.parameters.items():
            check(part.value)
            assert part.low <= part.value <= part.high, (name, part)
            if name in ("ceiling", "start"):
                check(part.low, 0, 1)
                check(part.high, 0, 1)
        last = curve.last_compute
        ahead = forecast(fitted, at=[last / 2, last, 2 * last, 1e4 * last], reach=[0.3, 0.9])
        for point in ahead.points:
            assert 0 <= point.evaluation_low <= point.evaluation_high <= 1
            assert 0 <= point.low <= point.value <= point.high <= 1
        for target in ahead.targets:
            check(target.probability, 0, 1)
            ends = [math.inf if end is None else end for end in (target.low, target.compute, target.high)]
            assert ends == sorted(ends) and not any(math.isnan(end) for end in ends)
        plan = budget(fitted, reach=0.5)
        check(plan.spend.gain.low, -1, 1)
        assert all(end is None or math.isfinite(end) for end in plan.saturation)
        assert all(isinstance(words, str) for words in ahead.warnings)
