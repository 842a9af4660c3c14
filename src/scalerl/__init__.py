"""Tell from the first part of a reinforcement-learning run where the rest will end.

>>> import scalerl
>>> curve = scalerl.Curve.of(
...     [0, 100, 200, 400, 800, 1600], [0.20, 0.24, 0.31, 0.38, 0.43, 0.46], unit="gpu_hours", num_samples=8000
... )
>>> ahead = scalerl.forecast(curve, at=[3200], reach=[0.42])
>>> round(ahead.points[0].value, 1), ahead.targets[0].probability > 0.99
(0.5, True)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scalerl.errors import InputError
    from scalerl.readers import read, read_all
    from scalerl.scaling.backtest import Backtest, Outcome, Score, backtest, recalibration
    from scalerl.scaling.budget import Budget, budget
    from scalerl.scaling.comparison import Comparison, Crossing, Pair, compare
    from scalerl.scaling.curve import Curve, PromptCounts
    from scalerl.scaling.estimate import Estimate
    from scalerl.scaling.fit import Fit, fit
    from scalerl.scaling.forecast import Forecast, ForecastPoint, Target, forecast
    from scalerl.scaling.law import Law, law
    from scalerl.scaling.windows import Window, windows

__version__ = "0.1.0"

__all__ = [
    "Backtest",
    "Budget",
    "Comparison",
    "Crossing",
    "Curve",
    "Estimate",
    "Fit",
    "Forecast",
    "ForecastPoint",
    "InputError",
    "Law",
    "Outcome",
    "Pair",
    "PromptCounts",
    "Score",
    "Target",
    "Window",
    "backtest",
    "budget",
    "compare",
    "fit",
    "forecast",
    "law",
    "read",
    "read_all",
    "recalibration",
    "windows",
]

_HOMES = {
    "scalerl.errors": ("InputError",),
    "scalerl.readers": ("read", "read_all"),
    "scalerl.scaling.backtest": ("Backtest", "Outcome", "Score", "backtest", "recalibration"),
    "scalerl.scaling.budget": ("Budget", "budget"),
    "scalerl.scaling.comparison": ("Comparison", "Crossing", "Pair", "compare"),
    "scalerl.scaling.curve": ("Curve", "PromptCounts"),
    "scalerl.scaling.estimate": ("Estimate",),
    "scalerl.scaling.fit": ("Fit", "fit"),
    "scalerl.scaling.forecast": ("Forecast", "ForecastPoint", "Target", "forecast"),
    "scalerl.scaling.law": ("Law", "law"),
    "scalerl.scaling.windows": ("Window", "windows"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the home holds under that name
    """Load a public name from its home when it is first asked for, so that `import scalerl` stays fast."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'scalerl' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
