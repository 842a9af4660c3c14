"""What a result says: a sentence for a busy person, and what else there is to say."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from scalerl.report.sentences import beware, price_text, standing
from scalerl.scaling.backtest import Backtest, Score
from scalerl.scaling.budget import Budget
from scalerl.scaling.comparison import Comparison
from scalerl.scaling.curve import UNIT_NAMES
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, ForecastPoint, Target
from scalerl.scaling.number_text import (
    compute_interval_text,
    compute_text,
    difference_text,
    interval_text,
    level_text,
    probability_text,
    ratio_text,
    value_text,
    with_interval,
)

Headline: TypeAlias = tuple[str, ...]


def of_fit(fit: Fit) -> Headline:
    """Where the run is and where it ends."""
    ceiling = fit.parameters["ceiling"]
    interval = f"{value_text(ceiling.value)} ({level_text(fit.level)}: {interval_text(ceiling.low, ceiling.high)})"
    end = (
        f"heads for a ceiling of {interval}"
        if fit.is_identified
        else f"its ceiling is not pinned down yet, best guess {interval}"
    )
    return (f"{beware(fit)}{fit.curve.name} stands at {_standing(fit)} and {end}.",)


def of_forecast(forecast: Forecast) -> Headline:
    """The last point asked about, and the first target."""
    unit = UNIT_NAMES[forecast.fit.curve.unit]
    parts = [_point(forecast.points[-1], unit)] if forecast.points else []
    parts += [_target(one, forecast.fit) for one in forecast.targets[:1]]
    where = f"{beware(forecast.fit)}{forecast.fit.curve.name} stands at {_standing(forecast.fit)}"
    return (f"{where}; it {', and '.join(parts)}.",)


def of_budget(budget: Budget) -> Headline:
    """What the target costs, and the advice."""
    unit, target = UNIT_NAMES[budget.fit.curve.unit], budget.target
    cost = budget.cost(budget.remaining)
    price = "" if cost is None else f", at a cost of {compute_text(cost)} ({price_text(budget)})"
    more = f": {compute_text(budget.remaining)} more{price}" if budget.remaining else ""
    spend = budget.spend
    gain = with_interval(spend.gain, difference_text)
    return (
        f"{beware(budget.fit)}{budget.fit.curve.name} {_target(target, budget.fit)}{more}.",
        f"By the gain alone, {spend.advice}: another {compute_text(spend.compute)} {unit} buys {gain}, at least"
        f" {budget.worthwhile_gain:g} with probability {probability_text(spend.probability_worth_it)}.",
    )


def of_comparison(comparison: Comparison) -> tuple[Headline, ...]:
    """How each pair stands on the first unit."""
    return tuple(standing(pair) for pair in comparison.pairs if pair.unit == comparison.units[0])


def of_backtest(backtest: Backtest) -> tuple[Headline, ...]:
    """How far off we were at each cut, against the best of the others."""
    scores = backtest.scores()
    ours = [score for score in scores if score.method == backtest.ours]
    return tuple(
        _score(one, [other for other in scores if other.cut == one.cut and other is not one]) for one in ours
    )


def _standing(fit: Fit) -> str:
    last, unit = fit.fitted.last_compute, UNIT_NAMES[fit.curve.unit]
    level = float(np.median(fit.draws.levels(last)))
    return f"{value_text(level)} after {compute_text(last)} {unit}"


def _point(point: ForecastPoint, unit: str) -> str:
    band = f"{value_text(point.value)} ({interval_text(point.low, point.high)})"
    return (
        f"should be at {band} after {compute_text(point.compute)} {unit}, {ratio_text(point.extrapolation)} as far"
    )


def _target(target: Target, fit: Fit) -> str:
    unit = UNIT_NAMES[fit.curve.unit]
    chance = probability_text(target.probability)
    if target.compute is None:
        return f"should not reach {target.target:g} (it does with probability {chance})"
    interval = compute_interval_text(target.low, target.high)
    verb = "reached" if target.compute <= fit.fitted.last_compute else "should reach"
    where = f"{compute_text(target.compute)} ({interval}) {unit}"
    return f"{verb} {target.target:g} after {where}, with probability {chance}"


def _score(ours: Score, others: list[Score]) -> Headline:
    best = min(others, key=lambda score: score.error, default=None)
    rival = "" if best is None else f" (best of the others: {best.method}, {value_text(best.error)})"
    held = "" if ours.coverage is None else f"; the 90% bands held {ours.coverage[0.9]:.0%} of them"
    runs = "1 run" if ours.num_runs == 1 else f"{ours.num_runs} runs"
    return (f"From the first {ours.cut:.0%} of {runs} the end was off by {value_text(ours.error)}{rival}{held}.",)
