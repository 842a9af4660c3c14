"""A forecast held against the points that came after the fitted window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scalerl.scaling.backtest import HIDDEN_SHARE
from scalerl.scaling.curve import UNIT_NAMES, Unit
from scalerl.scaling.estimate import Estimate, estimate
from scalerl.scaling.forecast import Forecast, forecast
from scalerl.scaling.number_text import compute_text, interval_text, level_text, value_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindsight:
    """The mean of the last fifth of the later points beside the forecast for it.

    `num_inside` of the `num_later` points lie in the band of one evaluation.
    """

    unit: Unit
    level: float
    compute: float
    actual: float
    num_averaged: int
    expected: Estimate
    num_later: int
    num_inside: int

    @property
    def is_inside(self) -> bool:
        """Whether what came lies in the band."""
        return self.expected.low <= self.actual <= self.expected.high

    def in_words(self) -> str:
        """What came, and whether the band held it."""
        points = "one evaluation" if self.num_averaged == 1 else f"mean of the last {self.num_averaged} evaluations"
        where = f"around {compute_text(self.compute)} {UNIT_NAMES[self.unit]}"
        band = f"{level_text(self.level)} band {interval_text(self.expected.low, self.expected.high)}"
        return (
            f"What came: {value_text(self.actual)} ({points}, {where}), {'inside' if self.is_inside else 'outside'}"
            f" the {band}; expected was {value_text(self.expected.value)}. Of {self.num_later} later evaluations"
            f" {self.num_inside} lie where a single one was expected."
        )


def hindsight(asked: Forecast) -> Hindsight | None:
    """Hold a forecast against what came, None where nothing did.

    A single point carries its own noise and is held against the band of one evaluation.
    """
    fit = asked.fit
    is_later = fit.curve.compute > fit.fitted.last_compute
    if not is_later.any():
        return None
    compute, value = fit.curve.compute[is_later], fit.curve.value[is_later]
    ahead = forecast(fit, at=compute.tolist(), level=asked.level).points
    num = max(1, round(len(compute) / HIDDEN_SHARE))
    expected = estimate(fit.draws.levels(compute[-num:]).mean(axis=1), asked.level)
    if num == 1:
        expected = replace(expected, low=ahead[-1].evaluation_low, high=ahead[-1].evaluation_high)
    return Hindsight(
        unit=fit.curve.unit,
        level=asked.level,
        compute=float(compute[-num:].mean()),
        actual=float(value[-num:].mean()),
        num_averaged=num,
        expected=expected,
        num_later=len(compute),
        num_inside=sum(
            point.evaluation_low <= seen <= point.evaluation_high for point, seen in zip(ahead, value, strict=True)
        ),
    )
