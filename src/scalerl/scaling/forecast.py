"""What more compute should buy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalerl.errors import InputError
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import generator
from scalerl.scaling.estimate import LEVEL, estimate, tails
from scalerl.scaling.fit import Fit, Method, fit
from scalerl.scaling.noise import noise
from scalerl.scaling.number_text import ratio_text
from scalerl.scaling.reach import reached, until_the_horizon

TESTED_FACTOR = 4.0
"""Forecasts further out than so many times the fitted compute were never back-tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPoint:
    """The level expected at a compute, and its band.

    `low` and `high` bound the mean level; `evaluation_low` and `evaluation_high` what one more evaluation, with as
    many samples as those so far, would show. `extrapolation` is the compute over the last fitted compute.
    """

    compute: float
    value: float
    low: float
    high: float
    evaluation_low: float
    evaluation_high: float
    extrapolation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The compute at which a value is reached, None where that is never, and the probability that it is at all.

    `compute`, `low` and `high` are quantiles over all that may happen, never included: if the value is reached
    with probability 0.8, the upper end of a 90% interval is never.
    """

    target: float
    compute: float | None
    low: float | None
    high: float | None
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """What more compute should buy, with bands, and warnings in words."""

    fit: Fit
    level: float
    points: tuple[ForecastPoint, ...]
    targets: tuple[Target, ...]
    warnings: tuple[str, ...]

    def band(self, compute: ArrayLike) -> tuple[Vector, Vector, Vector]:
        """Lower end, middle and upper end of the level at each compute."""
        low, high = tails(self.level)
        lower, middle, upper = np.quantile(self.fit.draws.levels(compute), [low, 0.5, high], axis=0)
        return lower, middle, upper


def forecast(
    curve: Curve | Fit,
    *,
    at: Sequence[float] = (),
    reach: Sequence[float] = (),
    level: float = LEVEL,
    law: str = "sigmoid",
    method: Method = "posterior",
    since: float | None = None,
    until: float | None = None,
) -> Forecast:
    """Forecast the level at computes, and the compute at which values are reached.

    >>> curve = Curve.of([0, 100, 200, 400, 800, 1600], [0.2, 0.24, 0.31, 0.38, 0.43, 0.46],
    ...                  unit="gpu_hours", num_samples=8000)
    >>> point = forecast(curve, at=[3200]).points[0]
    >>> bool(0.44 < point.low < point.value < point.high < 0.52), point.extrapolation
    (True, 2.0)
    """
    fitted = curve
    if isinstance(fitted, Curve):
        fitted = fit(fitted, law=law, method=method, since=since, until=until, level=level)
    for compute in at:
        if not (np.isfinite(compute) and compute > 0):
            raise InputError(f"a forecast at compute {compute:g} was asked for; expected a positive number")
    return Forecast(
        fit=fitted,
        level=level,
        points=_points(fitted, np.array(at, dtype=float), level),
        targets=tuple(target(fitted, value, level=level) for value in reach),
        warnings=(*fitted.warnings, *_warnings(fitted, at)),
    )


def _points(fitted: Fit, at: Vector, level: float) -> tuple[ForecastPoint, ...]:
    levels = fitted.draws.levels(at)
    evaluations = _with_noise(fitted.fitted, levels)
    bands = [
        (estimate(one, level), estimate(other, level)) for one, other in zip(levels.T, evaluations.T, strict=True)
    ]
    return tuple(
        ForecastPoint(
            compute=float(compute),
            value=mean.value,
            low=mean.low,
            high=mean.high,
            evaluation_low=min(one.low, mean.low),
            evaluation_high=max(one.high, mean.high),
            extrapolation=float(compute / fitted.fitted.last_compute),
        )
        for compute, (mean, one) in zip(at, bands, strict=True)
    )


def _with_noise(curve: Curve, levels: Vector) -> Vector:
    """What an evaluation of each level would show, with the noise of the last points."""
    scatter = noise(curve)
    deviation = np.sqrt(scatter.typical * np.median(scatter.variance[-5:]))
    return np.clip(levels + deviation * generator(curve).standard_normal(levels.shape), 0.0, 1.0)


def target(fitted: Fit, value: float, *, level: float = LEVEL) -> Target:
    """The compute at which a fitted run reaches a value."""
    if not 0 < value < 1:
        raise InputError(f"the value to reach is {value:g}; expected a number between 0 and 1")
    compute = until_the_horizon(fitted.fitted)
    there = reached(compute, fitted.draws.levels(compute), value, now=fitted.fitted.last_compute)
    low_tail, high_tail = tails(level)
    # An interpolated quantile between a number and infinity is not a number: take one of the draws.
    low, middle, high = np.quantile(there, [low_tail, 0.5, high_tail], method="inverted_cdf")
    return Target(
        target=value,
        compute=_or_never(middle),
        low=_or_never(low),
        high=_or_never(high),
        probability=float(np.isfinite(there).mean()),
    )


def too_far(what: str, compute: float, fitted: Curve) -> tuple[str, ...]:
    """A warning that something looks further out than was ever back-tested; nothing where it does not."""
    factor = compute / fitted.last_compute
    if factor <= TESTED_FACTOR:
        return ()
    limit = ratio_text(TESTED_FACTOR)
    return (f"{what} looks {ratio_text(factor)} as far as the fit; beyond {limit} nothing was judged",)


def _or_never(compute: float) -> float | None:
    return float(compute) if np.isfinite(compute) else None


def _warnings(fitted: Fit, at: Sequence[float]) -> tuple[str, ...]:
    words = list(too_far("this", max(at, default=0.0), fitted.fitted))
    if fitted.method != "posterior":
        words.append(f"the bands of {fitted.method} hold only the doubt about its parameters: they are too narrow")
    return tuple(words)
