"""Several recipes on one axis of compute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scalerl.report.axes import (
    INK,
    MARKERS,
    PALETTE,
    ComputeAxis,
    drawing,
    new_figure,
    put_pass_rates_on,
    shown_name,
)
from scalerl.report.comparison_tables import named_compute
from scalerl.report.number_text import compute_text
from scalerl.scaling.comparison import BAND, Comparison
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.estimate import tails
from scalerl.scaling.seeds import Recipe

MOST_BANDS = 4  # recipes above which bands would hide each other
MOST_CROSSINGS = 3
MANY_POINTS = 60


def comparison_figure(comparison: Comparison, later: Sequence[Curve] = ()) -> Figure:
    """Draw all recipes with their bands, where they cross and the compute they are compared at.

    `later` are whole runs of which a part was hidden; their points after the fitted part are drawn hollow.
    """
    at = named_compute(comparison)
    curves = [fit.curve for recipe in comparison.recipes for fit in recipe.fits]
    with drawing():
        figure, (axes,) = new_figure(height=4.3)
        axis = ComputeAxis.over([*curves, *later], BAND * at)
        ends: list[Vector] = []
        for place, recipe in enumerate(comparison.recipes):
            colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
            ends.append(_draw_band(axes, axis, recipe, comparison, colour))
            ends.append(_draw_runs(axes, axis, recipe, colour, marker, later))
        axis.put_on(axes)
        together = np.concatenate(ends)
        put_pass_rates_on(axes, float(together.min()), float(together.max()))
        _mark_compute(axes, at)
        _mark_crossings(axes, axis, comparison)
        axes.legend(fontsize=8.5, frameon=False, loc="best")
    return figure


def _draw_band(axes: Axes, axis: ComputeAxis, recipe: Recipe, comparison: Comparison, colour: str) -> Vector:
    """The middle of a recipe, solid as far as its runs go, and its band ahead; gives the ends to show."""
    last = recipe.longest.last_compute
    low_tail, high_tail = tails(comparison.level)
    seen, ahead = axis.steps(high=last, num=80), axis.steps(last, axis.last, 80)
    middle = np.median(recipe.levels(seen), axis=0)
    low, line, high = np.quantile(recipe.levels(ahead), [low_tail, 0.5, high_tail], axis=0)
    name = shown_name(recipe.name, 34)
    axes.plot(seen, middle, color=colour, linewidth=1.8, label=name, zorder=2.5)
    axes.plot(ahead, line, color=colour, linewidth=1.8, linestyle="--")
    if len(comparison.recipes) > MOST_BANDS:
        return line
    axes.fill_between(ahead, low, high, color=colour, alpha=0.15, linewidth=0)
    return np.concatenate([low, high])


def _draw_runs(
    axes: Axes, axis: ComputeAxis, recipe: Recipe, colour: str, marker: str, later: Sequence[Curve]
) -> Vector:
    """The points of each run, a thin line for each seed; gives the values to show."""
    values: list[Vector] = []
    for fit in recipe.fits:
        size = 3.6 if len(fit.curve) <= MANY_POINTS else 2.2
        style = {"linestyle": "none", "marker": marker, "color": colour, "markersize": size, "alpha": 0.6}
        axes.plot(axis.place(fit.curve.compute), fit.curve.value, **style)
        if len(recipe.fits) > 1:
            steps = axis.steps(high=fit.fitted.last_compute, num=80)
            axes.plot(steps, fit(steps), color=colour, linewidth=0.7, alpha=0.8)
        values.append(fit.curve.value)
        for whole in later:
            if whole.name == fit.curve.name and whole.unit == fit.curve.unit:
                rest = whole.take(whole.compute > fit.fitted.last_compute)
                axes.plot(rest.compute, rest.value, markerfacecolor="none", gid="came later", **style)
                values.append(rest.value)
    return np.concatenate(values)


def _mark_compute(axes: Axes, at: float) -> None:
    axes.axvline(at, color=INK, linewidth=0.9, linestyle=":", gid="compared at")
    _label(axes, at, f"at {compute_text(at)}", row=0)


def _mark_crossings(axes: Axes, axis: ComputeAxis, comparison: Comparison) -> None:
    """A line where two recipes cross, over its interval, unless there are too many to read or it is off the axis."""
    unit = comparison.units[0]
    found = [pair.crossing.compute for pair in comparison.pairs if pair.unit == unit and pair.crossing.compute]
    shown = [one for one in found if axis.first <= one.value <= axis.last]
    if len(shown) > MOST_CROSSINGS:
        return
    for row, one in enumerate(shown, start=1):
        ends = np.clip([one.low, one.high], axis.first, axis.last)
        axes.axvspan(*ends, color=INK, alpha=0.06, linewidth=0, gid="crossing interval")
        axes.axvline(one.value, color=INK, linewidth=0.9, gid="crossing")
        _label(axes, one.value, f"cross at {compute_text(one.value)}", row=row)


def _label(axes: Axes, x: float, text: str, row: int) -> None:
    """Words above the plot's top edge, each row of words higher than the last so that none overlap."""
    place = axes.get_xaxis_transform()
    axes.text(x, 1.01 + 0.05 * row, text, transform=place, ha="center", va="bottom", fontsize=8.5)
