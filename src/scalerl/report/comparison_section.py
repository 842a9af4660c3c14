"""The card that sets several recipes side by side."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from scalerl.report.calibration_figure import calibration_figure
from scalerl.report.comparison_figure import comparison_figure
from scalerl.report.comparison_tables import comparison_table, named_compute, ranking_table
from scalerl.report.html_parts import bullets, details, figure_part, heading, paragraph, section, table_part
from scalerl.report.sentences import efficiencies, sentence, standing
from scalerl.report.tables import backtest_table
from scalerl.scaling.backtest import Backtest
from scalerl.scaling.comparison import Comparison, Pair
from scalerl.scaling.curve import UNIT_NAMES, Curve, Unit

MOST_TOLD = 3  # pairs that are told in sentences; the table has them all


def comparison_title(task: str | None) -> str:
    """What a comparison asks, on one task of several where there are."""
    return "Which recipe is better" if task is None else f"Which recipe is better on {task}"


def comparison_section(comparison: Comparison, later: Sequence[Curve] = (), task: str | None = None) -> str:
    """Who leads at the named compute, the picture, and one block for each unit of compute."""
    words = efficiencies(comparison)
    anchor = "comparison" if task is None else f"comparison-{zlib.crc32(task.encode()):08x}"
    return section(
        [
            heading(comparison_title(task), 2),
            table_part(ranking_table(comparison)),
            paragraph(words) if words else "",
            figure_part(comparison_figure(comparison, later), anchor, "All recipes against compute, with bands."),
            *(_unit_block(comparison, unit) for unit in comparison.units),
            bullets(_own_warnings(comparison), "warnings"),
        ],
        anchor,
    )


def calibration_section(backtest: Backtest) -> str:
    """How the method did earlier in all these runs."""
    if not backtest.of(backtest.ours):
        return ""
    words = "How often bands held what came, against what they promise, and each prediction against what came."
    return section(
        [
            heading("Had you asked earlier in these runs", 2),
            table_part(backtest_table(backtest)),
            figure_part(calibration_figure(backtest), "calibration", words),
        ],
        "calibration",
    )


def _unit_block(comparison: Comparison, unit: Unit) -> str:
    """The pairs on one unit, those with the leader where there are many, and in sentences where there are few."""
    pairs = [pair for pair in comparison.pairs if pair.unit == unit]
    leader = _leader(comparison)
    told = pairs if len(pairs) <= MOST_TOLD else [pair for pair in pairs if leader in (pair.first, pair.second)]
    whole = table_part(comparison_table(comparison, unit))
    return "".join(
        [
            heading(f"By {UNIT_NAMES[unit]}", 3),
            paragraph(f"Pairs with {leader}, which leads.", "soft") if len(told) < len(pairs) else "",
            *(_told(pair, is_only=len(told) == 1) for pair in told[:MOST_TOLD]),
            details(f"All {len(pairs)} pairs as a table", [whole])
            if len(pairs) > 1
            else details("As a table", [whole]),
        ]
    )


def _told(pair: Pair, *, is_only: bool) -> str:
    name = "" if is_only else heading(f"{pair.first} against {pair.second}", 4)
    return name + bullets(standing(pair))


def _leader(comparison: Comparison) -> str:
    at = named_compute(comparison)
    return max(comparison.recipes, key=lambda recipe: float(np.median(recipe.levels(at)))).name


def _own_warnings(comparison: Comparison) -> list[str]:
    """Warnings about the comparison; those about a run stand on its card."""
    names = tuple(f"{recipe.name}: " for recipe in comparison.recipes)
    return [sentence(one) for one in comparison.warnings if not one.startswith(names)]
