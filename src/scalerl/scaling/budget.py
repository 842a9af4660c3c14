"""What a target costs, and whether to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from scalerl.errors import InputError
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.estimate import LEVEL, Estimate, estimate, tails
from scalerl.scaling.fit import Fit, Method, fit
from scalerl.scaling.forecast import Target, target
from scalerl.scaling.reach import until_the_horizon

Advice: TypeAlias = Literal["continue", "stop"]
GAIN = 0.005
"""A gain below this is not worth a tenth of the budget, unless said otherwise."""

ANOTHER_TENTH = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What spending more from here on buys, and whether that is worth it."""

    compute: float
    gain: Estimate
    probability_worth_it: float
    advice: Advice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Budget:
    """What a target costs and when more compute stops paying.

    `target` counts compute from the start of the run; `remaining` is what is left to spend until then, zero if the
    run is there. `saturation` is the total compute from which another tenth buys less than `worthwhile_gain` (low,
    middle, high, of the smooth paths; None for later than can be told). Costs are in the user's own money, None
    without a price.
    """

    fit: Fit
    level: float
    target: Target
    remaining: float | None
    worthwhile_gain: float
    saturation: tuple[float | None, float | None, float | None]
    spend: Spend
    cost_per_unit: float | None
    warnings: tuple[str, ...]

    def cost(self, compute: float | None) -> float | None:
        """Price of an amount of compute."""
        return None if compute is None or self.cost_per_unit is None else compute * self.cost_per_unit


def budget(
    curve: Curve | Fit,
    *,
    reach: float,
    gain: float = GAIN,
    spend: float | None = None,
    cost_per_unit: float | None = None,
    level: float = LEVEL,
    law: str = "sigmoid",
    method: Method = "posterior",
    since: float | None = None,
    until: float | None = None,
) -> Budget:
    """Say what reaching a value costs, and whether spending so much more (by default a tenth) is worth a gain.

    >>> curve = Curve.of([0, 100, 200, 400, 800, 1600], [0.2, 0.24, 0.31, 0.38, 0.43, 0.46],
    ...                  unit="gpu_hours", num_samples=8000)
    >>> plan = budget(curve, reach=0.42, spend=1600, gain=0.05, cost_per_unit=2.0)
    >>> 500 < plan.target.compute < 900, plan.remaining, plan.spend.advice
    (True, 0.0, 'stop')
    """
    fitted = curve
    if isinstance(fitted, Curve):
        fitted = fit(fitted, law=law, method=method, since=since, until=until, level=level)
    last = fitted.fitted.last_compute
    more = last / 10 if spend is None else spend
    for name, number in (("gain", gain), ("spend", more), ("cost per unit", cost_per_unit)):
        if number is not None and not (np.isfinite(number) and number > 0):
            raise InputError(f"the {name} is {number:g}; expected a positive number")
    reached = target(fitted, reach, level=level)
    return Budget(
        fit=fitted,
        level=level,
        target=reached,
        remaining=None if reached.compute is None else max(0.0, reached.compute - last),
        worthwhile_gain=gain,
        saturation=_saturation(fitted, gain, level),
        spend=_spend(fitted, last, more, gain, level),
        cost_per_unit=cost_per_unit,
        warnings=fitted.warnings,
    )


def _spend(fitted: Fit, last: float, more: float, worthwhile: float, level: float) -> Spend:
    gains = fitted.draws.gain(last, last + more)
    chance = float((gains >= worthwhile).mean())
    advice: Advice = "continue" if chance >= 0.5 else "stop"
    return Spend(compute=more, gain=estimate(gains, level), probability_worth_it=chance, advice=advice)


def _saturation(fitted: Fit, worthwhile: float, level: float) -> tuple[float | None, float | None, float | None]:
    """Compute after which no further tenth buys a worthwhile gain: the last place on each path where one does."""
    compute = until_the_horizon(fitted.fitted)
    gains = fitted.draws.levels(compute * ANOTHER_TENTH) - fitted.draws.levels(compute)
    pays = gains >= worthwhile
    at = pays.shape[1] - 1 - np.argmax(pays[:, ::-1], axis=1)
    where: Vector = np.where(pays.any(axis=1), compute[np.minimum(at + 1, len(compute) - 1)], compute[0])
    where = np.where(pays[:, -1], np.inf, where)
    low, high = tails(level)
    ends = np.quantile(where, [low, 0.5, high], method="inverted_cdf")
    lower, middle, upper = (float(end) if np.isfinite(end) else None for end in ends)
    return lower, middle, upper
