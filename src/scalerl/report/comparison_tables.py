"""The tables about several recipes: who leads, and every pair."""

from __future__ import annotations

import numpy as np

from scalerl.report.table import (
    Cell,
    Column,
    Table,
    estimate_column,
    estimated,
    number,
    number_column,
    words,
    words_column,
)
from scalerl.report.tables import intervals_note
from scalerl.scaling.comparison import BAND, Comparison, Pair
from scalerl.scaling.curve import UNIT_NAMES, Unit
from scalerl.scaling.estimate import estimate
from scalerl.scaling.number_text import (
    UNKNOWN,
    compute_text,
    difference_text,
    probability_text,
    ratio_text,
    steepness_text,
    value_text,
)


def comparison_table(comparison: Comparison, unit: Unit | None = None) -> Table:
    """Every pair of recipes, on one unit of compute or on all."""
    pairs = [pair for pair in comparison.pairs if unit is None or pair.unit == unit]
    units = {UNIT_NAMES[pair.unit] for pair in pairs}
    name = f" ({units.pop()})" if len(units) == 1 else ""
    return Table(
        title="Pairs" if unit is None else f"Pairs by {UNIT_NAMES[unit]}",
        columns=(
            words_column("First", "first", "unit"),
            words_column("Second", "second"),
            number_column(f"At{name}", "at"),
            number_column("First is better", "probability_better"),
            number_column(f"Better up to {BAND:g}x", "probability_better_over_band"),
            estimate_column("Difference", "difference"),
            Column(
                title="Compute ratio to a value",
                fields=("target", "ratio", "ratio_low", "ratio_high", "ratio_probability"),
            ),
            Column(
                title=f"Last crossing{name}",
                fields=("crossing", "crossing_low", "crossing_high", "crossing_probability"),
            ),
            Column(
                title="Ceilings",
                fields=("ceilings", "ceiling_difference", "ceiling_difference_low", "ceiling_difference_high"),
                align="left",
            ),
        ),
        rows=tuple(_pair_row(pair) for pair in pairs),
        notes=(
            intervals_note(comparison.level),
            f"Differences are first minus second; a ratio below 1 says that the first is cheaper."
            f" Ceilings within {comparison.margin:g} count as equivalent.",
            f"Runs of one recipe are taken to differ by {comparison.spread:.3f} (standard deviation).",
        ),
    )


def ranking_table(comparison: Comparison) -> Table:
    """Each recipe at the named compute, the best in front, and its efficiency under a shared ceiling."""
    at = named_compute(comparison)
    draws = np.stack([one.levels(at)[:, 0] for one in comparison.recipes])
    is_best = draws == draws.max(axis=0)
    chance_best = (is_best / is_best.sum(axis=0)).mean(axis=1)
    order = np.argsort(-np.median(draws, axis=1), kind="stable")
    unit = UNIT_NAMES[comparison.units[0]]
    return Table(
        title=f"Recipes at {compute_text(at)} {unit}",
        columns=(
            words_column("Recipe", "recipe"),
            number_column("Runs", "num_runs"),
            estimate_column("Level", "level"),
            number_column("Is the best", "probability_best"),
            estimate_column("Ceiling", "ceiling", symbol="$A$"),
            *_efficiency_columns(comparison),
        ),
        rows=tuple(
            (
                words(comparison.recipes[row].name),
                number(len(comparison.recipes[row].fits), lambda num: f"{num:.0f}"),
                estimated(estimate(draws[row], comparison.level), value_text),
                number(float(chance_best[row]), probability_text),
                estimated(estimate(comparison.recipes[row].ceiling, comparison.level), value_text),
                *_efficiency_cells(comparison, comparison.recipes[row].name),
            )
            for row in order
        ),
        notes=(intervals_note(comparison.level), *_fairness(comparison)),
    )


def named_compute(comparison: Comparison) -> float:
    """The compute at which the recipes are compared, on the first unit."""
    return max(pair.at for pair in comparison.pairs if pair.unit == comparison.units[0])


def _efficiency_columns(comparison: Comparison) -> tuple[Column, ...]:
    if comparison.shared is None:
        return ()
    return (
        estimate_column(f"Efficiency at ceiling {value_text(comparison.shared.ceiling)}", "shared_efficiency"),
        number_column("Most efficient", "probability_most_efficient"),
    )


def _efficiency_cells(comparison: Comparison, name: str) -> tuple[Cell, ...]:
    if comparison.shared is None:
        return ()
    return (
        estimated(comparison.shared.efficiency[name], steepness_text),
        number(comparison.shared.probability_most_efficient[name], probability_text),
    )


def _fairness(comparison: Comparison) -> tuple[str, ...]:
    if comparison.shared is None or comparison.shared.is_fair:
        return ()
    return (f"The ceilings lie further apart than {comparison.margin:g}: efficiencies mean little here.",)


def _pair_row(pair: Pair) -> tuple[Cell, ...]:
    return (
        words(pair.first, pair.first, pair.unit),
        words(pair.second),
        number(pair.at, compute_text),
        number(pair.probability_better, probability_text),
        number(pair.probability_better_over_band, probability_text),
        estimated(pair.difference, difference_text),
        _ratio_cell(pair),
        _crossing_cell(pair),
        _ceilings_cell(pair),
    )


def _ratio_cell(pair: Pair) -> Cell:
    if pair.ratio is None:
        return words(
            f"{UNKNOWN} to {value_text(pair.target)}", pair.target, None, None, None, pair.ratio_probability
        )
    found = estimated(pair.ratio, ratio_text)
    return words(f"{found.text} to {value_text(pair.target)}", pair.target, *found.numbers, pair.ratio_probability)


def _crossing_cell(pair: Pair) -> Cell:
    crossing = pair.crossing
    chance = probability_text(crossing.probability)
    if crossing.compute is None:
        text = f"none likely ({chance})" if crossing.probability < 0.5 else f"{chance} sure, unclear where"
        return words(text, None, None, None, crossing.probability)
    found = estimated(crossing.compute, compute_text)
    return words(f"{found.text}, {chance} sure", *found.numbers, crossing.probability)


def _ceilings_cell(pair: Pair) -> Cell:
    found = estimated(pair.ceiling_difference, difference_text)
    return words(f"{pair.ceilings}, {found.text}", pair.ceilings, *found.numbers)
