"""What a result says, in one or two sentences."""

from __future__ import annotations

from scalerl.report.number_text import (
    compute_interval_text,
    compute_text,
    difference_interval_text,
    difference_text,
    interval_text,
    level_text,
    probability_text,
    ratio_text,
    value_text,
)
from scalerl.scaling.backtest import OURS, Backtest, Score
from scalerl.scaling.budget import Budget
from scalerl.scaling.comparison import Comparison, Pair
from scalerl.scaling.curve import UNIT_NAMES
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, ForecastPoint, Target


def of_fit(fit: Fit) -> str:
    """Where the run is and where it ends."""
    ceiling = fit.parameters["ceiling"]
    interval = f"{value_text(ceiling.value)} ({level_text(fit.level)}: {interval_text(ceiling.low, ceiling.high)})"
    end = (
        f"heads for a ceiling of {interval}"
        if fit.is_identified
        else f"its ceiling is not pinned down yet, best guess {interval}"
    )
    return f"{fit.curve.name} stands at {_standing(fit)} and {end}."


def of_forecast(forecast: Forecast) -> str:
    """The last point asked about, and the first target."""
    unit = UNIT_NAMES[forecast.fit.curve.unit]
    parts = [_point(forecast.points[-1], unit)] if forecast.points else []
    parts += [_target(one, unit) for one in forecast.targets]
    return f"{forecast.fit.curve.name} stands at {_standing(forecast.fit)} and should {', and '.join(parts)}."


def of_budget(budget: Budget) -> str:
    """What the target costs, and the advice."""
    unit, target = UNIT_NAMES[budget.fit.curve.unit], budget.target
    cost = budget.cost(budget.remaining)
    price = "" if cost is None else f", at a cost of {compute_text(cost)}"
    more = "" if budget.remaining is None else f": {compute_text(budget.remaining)} more{price}"
    spend = budget.spend
    return (
        f"{budget.fit.curve.name} should {_target(target, unit)}{more}. {spend.advice.capitalize()}: another"
        f" {compute_text(spend.compute)} {unit} buys {difference_text(spend.gain.value)}"
        f" ({difference_interval_text(spend.gain.low, spend.gain.high)}), at least"
        f" {budget.worthwhile_gain:g} with probability {probability_text(spend.probability_worth_it)}."
    )


def of_comparison(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each pair on the first unit."""
    return tuple(_pair(pair) for pair in comparison.pairs if pair.unit == comparison.units[0])


def of_backtest(backtest: Backtest) -> str:
    """How far off we were, against the best of the others."""
    scores = backtest.scores()
    if not scores:
        return "No run has enough points before any of the cuts."
    ours = [score for score in scores if score.method == OURS]
    sentences = [_score(score, [one for one in scores if one.cut == score.cut and one is not score]) for score in ours]
    return " ".join(sentences)


def _standing(fit: Fit) -> str:
    last, unit = fit.fitted.last_compute, UNIT_NAMES[fit.curve.unit]
    return f"{value_text(float(fit(last)[0]))} after {compute_text(last)} {unit}"


def _point(point: ForecastPoint, unit: str) -> str:
    band = f"{value_text(point.value)} ({interval_text(point.low, point.high)})"
    return f"be at {band} after {compute_text(point.compute)} {unit}, {ratio_text(point.extrapolation)} as far"


def _target(target: Target, unit: str) -> str:
    chance = probability_text(target.probability)
    if target.compute is None:
        return f"not reach {target.target:g} (it does with probability {chance})"
    interval = compute_interval_text(target.low, target.high)
    return f"reach {target.target:g} after {compute_text(target.compute)} ({interval}) {unit}, with probability {chance}"


def _pair(pair: Pair) -> str:
    is_first = pair.probability_better >= 0.5
    better, other = (pair.first, pair.second) if is_first else (pair.second, pair.first)
    chance = probability_text(pair.probability_better if is_first else 1 - pair.probability_better)
    low, high = sorted([abs(pair.difference.low), abs(pair.difference.high)])
    by = f" by {value_text(low)} to {value_text(high)}" if pair.difference.low * pair.difference.high > 0 else ""
    crossing = pair.crossing.compute
    cross = "" if crossing is None else f" The curves last cross at about {compute_text(crossing.value)}."
    return (
        f"At {compute_text(pair.at)} {UNIT_NAMES[pair.unit]} {better} is better than {other}{by} with probability"
        f" {chance}; {_CEILINGS[pair.ceilings]}.{cross}"
    )


_CEILINGS = {
    "differ": "the ceilings differ",
    "equivalent": "the ceilings are equivalent",
    "unresolved": "whether the ceilings differ cannot be told yet",
}


def _score(ours: Score, others: list[Score]) -> str:
    best = min(others, key=lambda score: score.error, default=None)
    rival = "" if best is None else f" (best of the others: {best.method}, {value_text(best.error)})"
    held = "" if ours.coverage is None else f", and the 90% bands held {ours.coverage[0.9]:.0%}"
    return f"From the first {ours.cut:.0%} of {ours.num_runs} runs the end was off by {value_text(ours.error)}{rival}{held}."
