"""What a report is asked: one law, one method and one window for all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalerl.errors import TooFewPointsError
from scalerl.scaling.backtest import Backtest, backtest
from scalerl.scaling.comparison import Comparison, compare
from scalerl.scaling.curve import Curve
from scalerl.scaling.fit import Method, fit, window
from scalerl.scaling.forecast import Forecast, forecast
from scalerl.scaling.law import law
from scalerl.scaling.number_text import ratio_text
from scalerl.scaling.predictors import RIVALS
from scalerl.scaling.windows import Window, windows

FACTORS = (1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The choices of a report; `at` are the named computes, of which recipes are compared at the first."""

    law: str
    method: Method
    since: float | None
    until: float | None
    at: tuple[float, ...]
    reach: tuple[float, ...]
    level: float

    def can_fit(self, curve: Curve) -> bool:
        """Whether a run has enough points in the window."""
        try:
            window(curve, self.since, self.until, law(self.law))
        except TooFewPointsError:
            return False
        return True

    def forecast(self, curve: Curve) -> Forecast:
        """Forecast a run at the named computes and at 1.5, 2 and 4 times its fitted compute."""
        fitted = fit(curve, law=self.law, method=self.method, since=self.since, until=self.until, level=self.level)
        return forecast(fitted, at=self._computes(fitted.fitted.last_compute), reach=self.reach, level=self.level)

    def _computes(self, last: float) -> list[float]:
        """The named computes, and the usual multiples of the last one that do not read like one of them."""
        named = {ratio_text(compute / last) for compute in self.at}
        usual = (factor * last for factor in FACTORS if ratio_text(factor) not in named)
        return sorted({*self.at, *usual})

    def windows(self, curve: Curve) -> tuple[Window, ...]:
        """Fit other windows of what is not hidden."""
        seen = curve.between(until=self.until)
        return windows(seen, law=self.law, method=self.method, level=self.level)

    def backtest(self, curve: Curve) -> Backtest:
        """Ask earlier in the same run, beside the last value."""
        rivals = {"last value": RIVALS["last value"]}
        return backtest(
            [curve], law=self.law, method=self.method, rivals=rivals, since=self.since, until=self.until
        )

    def compare(self, runs: Sequence[Curve | Sequence[Curve]], names: Sequence[str] | None) -> Comparison:
        """Compare the recipes at the first named compute."""
        return compare(
            runs,
            at=self.at[0] if self.at else None,
            names=names,
            level=self.level,
            law=self.law,
            method=self.method,
            since=self.since,
            until=self.until,
        )
