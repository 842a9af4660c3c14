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
    SMALL,
    ComputeAxis,
    Look,
    drawing,
    new_figure,
    put_values_on,
    shown_name,
)
from scalerl.report.comparison_tables import named_compute
from scalerl.scaling.comparison import BAND, Comparison, Pair
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.estimate import Estimate, tails
from scalerl.scaling.number_text import compute_text
from scalerl.scaling.seeds import Recipe

MOST_BANDS = 4  # recipes above which bands would hide each other
MOST_CROSSINGS = 3
MOST_INSIDE = 5  # recipes above which the legend goes below the plot
MANY_POINTS = 60


def comparison_figure(comparison: Comparison, later: Sequence[Curve] = ()) -> Figure:
    """Draw all recipes with their bands, where they cross and the compute they are compared at.

    `later` are whole runs of which a part was hidden; their points after the fitted part are drawn hollow.
    """
    at, num_recipes = named_compute(comparison), len(comparison.recipes)
    curves = [fit.curve for recipe in comparison.recipes for fit in recipe.fits]
    with drawing():
        figure, (axes,) = new_figure(height=4.3 + (0.1 * num_recipes if num_recipes > MOST_INSIDE else 0))
        axis = ComputeAxis.over([*curves, *later], BAND * at)
        ends: list[Vector] = []
        for recipe, look in zip(comparison.recipes, _looks(num_recipes), strict=True):
            axes.plot([], [], linewidth=1.8, markersize=4, label=shown_name(recipe.name, 34), **look)
            ends.append(_draw_band(axes, axis, recipe, comparison, look["color"]))
            ends.append(_draw_runs(axes, axis, recipe, look, later))
        axis.put_on(axes)
        together = np.concatenate(ends)
        put_values_on(axes, float(together.min()), float(together.max()), comparison.recipes[0].longest.metric)
        _mark_compute(axes, axis, at)
        _mark_crossings(axes, axis, comparison)
        if num_recipes > MOST_INSIDE:
            figure.legend(fontsize=SMALL, frameon=False, loc="outside lower center", ncols=2)
        else:
            axes.legend(fontsize=SMALL, frameon=False, loc="best")
    return figure


def _looks(num_recipes: int) -> list[Look]:
    """A colour and a marker for each recipe; where colours come round again the markers have moved on by one."""
    num = len(PALETTE)
    return [{"color": PALETTE[at % num], "marker": MARKERS[(at + at // num) % num]} for at in range(num_recipes)]


def _draw_band(axes: Axes, axis: ComputeAxis, recipe: Recipe, comparison: Comparison, colour: str) -> Vector:
    """The middle of a recipe, solid as far as its runs go, and its band ahead; gives the ends to show."""
    first = min(float(fit.fitted.compute[fit.fitted.compute > 0][0]) for fit in recipe.fits)
    last = recipe.longest.last_compute
    low_tail, high_tail = tails(comparison.level)
    seen, ahead = axis.steps(first, last, 80), axis.steps(last, axis.last, 80)
    low, line, high = np.quantile(recipe.levels(ahead), [low_tail, 0.5, high_tail], axis=0)
    axes.plot(seen, np.median(recipe.levels(seen), axis=0), color=colour, linewidth=1.8, zorder=2.5, gid="fitted")
    axes.plot(ahead, line, color=colour, linewidth=1.8, linestyle="--", gid="forecast")
    if len(comparison.recipes) > MOST_BANDS:
        return line
    axes.fill_between(ahead, low, high, color=colour, alpha=0.15, linewidth=0)
    return np.concatenate([low, high])


def _draw_runs(axes: Axes, axis: ComputeAxis, recipe: Recipe, look: Look, later: Sequence[Curve]) -> Vector:
    """The points of each run, a thin line for each seed; gives the values to show."""
    values: list[Vector] = []
    for fit in recipe.fits:
        size = 3.6 if len(fit.curve) <= MANY_POINTS else 2.2
        style: Look = {"linestyle": "none", "markersize": size, "alpha": 0.6, **look}
        axes.plot(axis.place(fit.curve.compute), fit.curve.value, gid="evaluations", **style)
        values.append(fit.curve.value)
        if len(recipe.fits) > 1:
            steps = axis.steps(float(fit.fitted.compute[fit.fitted.compute > 0][0]), fit.fitted.last_compute, 80)
            axes.plot(steps, fit(steps), color=look["color"], linewidth=0.7, alpha=0.8, gid="seed")
        for whole in later:
            if (whole.name, whole.unit) == (fit.curve.name, fit.curve.unit):
                rest = whole.compute > fit.fitted.last_compute
                hollow: Look = {**style, "markerfacecolor": "none", "gid": "came later"}
                axes.plot(whole.compute[rest], whole.value[rest], **hollow)
                values.append(whole.value[rest])
    return np.concatenate(values)


def _mark_compute(axes: Axes, axis: ComputeAxis, at: float) -> None:
    axes.axvline(at, color=INK, linewidth=0.9, linestyle=":", gid="compared at")
    _label(axes, axis, at, f"at {compute_text(at)}", row=0)


def _mark_crossings(axes: Axes, axis: ComputeAxis, comparison: Comparison) -> None:
    """A line where two recipes last cross, with a bar over its interval, unless there are too many to read."""
    shown: list[tuple[Pair, Estimate]] = []
    for pair in comparison.pairs:
        where = pair.crossing.compute
        if pair.unit == comparison.units[0] and where is not None and axis.first <= where.value <= axis.last:
            shown.append((pair, where))
    if len(shown) > MOST_CROSSINGS:
        return
    for row, (pair, where) in enumerate(shown, start=1):
        height = 0.03 * row
        place = axes.get_xaxis_transform()
        ends = np.clip([where.low, where.high], axis.first, axis.last)
        axes.axvline(where.value, color=INK, linewidth=0.7, alpha=0.6, gid="crossing")
        axes.plot(
            ends, [height, height], color=INK, linewidth=2, alpha=0.6, transform=place, gid="crossing interval"
        )
        axes.plot(where.value, height, "o", color=INK, markersize=4, transform=place)
        names = f"{shown_name(pair.first, 16)} / {shown_name(pair.second, 16)}: " if len(shown) > 1 else ""
        _label(axes, axis, where.value, f"{names}last crossing {compute_text(where.value)}", row=row)


def _label(axes: Axes, axis: ComputeAxis, x: float, text: str, row: int) -> None:
    """Words above the plot's top edge, each row of words higher than the last so that none overlap."""
    part = np.log(x / axis.first) / np.log(axis.last / axis.first)
    align = "right" if part > 0.8 else "left" if part < 0.2 else "center"
    place = axes.get_xaxis_transform()
    axes.text(x, 1.01 + 0.055 * row, text, transform=place, ha=align, va="bottom", fontsize=SMALL)
