"""What the numbers say, in sentences."""

from __future__ import annotations

from scalerl.scaling.backtest import Backtest, Outcome
from scalerl.scaling.budget import Budget
from scalerl.scaling.comparison import Comparison, Pair
from scalerl.scaling.curve import UNIT_NAMES
from scalerl.scaling.estimate import LEVEL
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, ForecastPoint
from scalerl.scaling.number_text import (
    compute_text,
    difference_interval_text,
    difference_text,
    interval_text,
    level_text,
    probability_text,
    ratio_text,
    value_text,
    with_interval,
)

SHARES = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}


def beware(fit: Fit) -> str:
    """What to know before any number of a falling run is read, nothing for another."""
    if not fit.is_falling:
        return ""
    return "The curve falls, which no law here can: what follows supposes that it stays or recovers. "


def expectation(asked: Forecast, point: ForecastPoint) -> str:
    """What to expect at a compute, and whether there is a ceiling to name."""
    where = f"{compute_text(point.compute)} {UNIT_NAMES[asked.fit.curve.unit]}"
    band = f"{level_text(asked.level)}: {interval_text(point.low, point.high)}"
    return f"{beware(asked.fit)}At {where} expect {value_text(point.value)} ({band}). {ceiling(asked.fit)}"


def ceiling(fit: Fit) -> str:
    """The ceiling where it is pinned down."""
    if fit.is_identified:
        found = fit.parameters["ceiling"]
        return f"Ceiling {value_text(found.value)} ({interval_text(found.low, found.high)}), identified."
    return "The ceiling is not identified."


def advice(fit: Fit) -> str:
    """Why the ceiling is not pinned down and what would help; nothing where it is."""
    return " ".join(sentence(words) for words in fit.identification.in_words)


def price_text(budget: Budget) -> str:
    """What one unit of compute costs; nothing where that is not known."""
    unit = UNIT_NAMES[budget.fit.curve.unit].removesuffix("s")
    return "" if budget.cost_per_unit is None else f"{budget.cost_per_unit:g} per {unit}"


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("the curve falls")
    'The curve falls.'
    """
    return f"{words[:1].upper()}{words[1:]}."


def earlier(backtest: Backtest, run: str, whole: str = "this run") -> tuple[str, ...]:
    """What the same method would have said earlier in a run, cut by cut; `whole` is what the cuts are shares of."""
    return tuple(_earlier(one, backtest, whole) for one in backtest.of(backtest.ours) if one.run == run)


def _earlier(outcome: Outcome, backtest: Backtest, whole: str) -> str:
    share = SHARES.get(outcome.cut, f"{outcome.cut:.0%}")
    said = value_text(outcome.predicted)
    if outcome.has_band:
        said = f"{said} ({level_text(LEVEL)}: {interval_text(*outcome.band(LEVEL))})"
    verdict = f": {'inside' if outcome.is_covered(LEVEL) else 'outside'} the band" if outcome.has_band else ""
    others = [one for one in backtest.of("last value", outcome.cut) if one.run == outcome.run]
    rival = (
        f" The last value then was {difference_text(others[0].predicted - outcome.actual)} off." if others else ""
    )
    return (
        f"Had you asked at {share} of {whole}, the answer for its end had been {said};"
        f" {value_text(outcome.actual)} came{verdict}.{rival}"
    )


def standing(pair: Pair) -> tuple[str, ...]:
    """How two recipes stand: who is better, at what price, where they cross, and their ceilings."""
    words = [_better(pair), _price(pair), _crossing(pair), _ceilings(pair)]
    if pair.paired is not None:
        paired = pair.paired
        words.append(
            f"On the {paired.num_prompts:,} prompts that both were asked the difference is"
            f" {with_interval(paired.difference, difference_text)}: {pair.first} is better with probability"
            f" {probability_text(paired.probability_better)} (these two runs)."
        )
    return tuple(words)


def _better(pair: Pair) -> str:
    is_first = pair.probability_better >= 0.5
    better, other = (pair.first, pair.second) if is_first else (pair.second, pair.first)
    chance = pair.probability_better if is_first else 1 - pair.probability_better
    sign = 1 if is_first else -1
    low, high = sorted((sign * pair.difference.low, sign * pair.difference.high))
    return (
        f"At {compute_text(pair.at)} {UNIT_NAMES[pair.unit]} {better} is better than {other} with probability"
        f" {probability_text(chance)}: by {difference_text(sign * pair.difference.value)}"
        f" ({difference_interval_text(low, high)})."
    )


def _price(pair: Pair) -> str:
    if pair.ratio is None:
        return (
            f"That both reach {value_text(pair.target)} has probability {probability_text(pair.ratio_probability)}:"
            " too little for a ratio of compute."
        )
    return (
        f"To reach {value_text(pair.target)} {pair.first} takes {with_interval(pair.ratio, ratio_text)} the compute"
        f" of {pair.second}."
    )


def _crossing(pair: Pair) -> str:
    crossing, unit = pair.crossing, UNIT_NAMES[pair.unit]
    span = f"between {compute_text(crossing.since)} and {compute_text(crossing.until)} {unit}"
    chance = probability_text(crossing.probability)
    if crossing.compute is None:
        return f"That they cross {span} has probability {chance}."
    return f"They last cross at {with_interval(crossing.compute, compute_text)} {unit}; probability {chance}."


def _ceilings(pair: Pair) -> str:
    verdict = {"differ": "differ", "equivalent": "are equivalent", "unresolved": "cannot be told apart yet"}
    return f"Their ceilings {verdict[pair.ceilings]}: {with_interval(pair.ceiling_difference, difference_text)}."


def efficiencies(comparison: Comparison) -> str | None:
    """Which recipe is the most efficient under one ceiling, None for a law without an efficiency."""
    shared = comparison.shared
    if shared is None:
        return None
    best = max(shared.probability_most_efficient, key=lambda name: shared.probability_most_efficient[name])
    words = (
        f"Refitted with one ceiling of {value_text(shared.ceiling)}, {best} is the most efficient with probability"
        f" {probability_text(shared.probability_most_efficient[best])}"
    )
    doubt = (
        ""
        if shared.is_fair
        else f", but the ceilings lie further apart than {comparison.margin:g}, so this means little"
    )
    return f"{words}{doubt}."
