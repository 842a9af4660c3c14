"""One run: its points, the fitted law, and what more compute should buy."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scalerl.report.axes import (
    GRID,
    INK,
    PALETTE,
    SMALL,
    ComputeAxis,
    Look,
    drawing,
    new_figure,
    put_values_on,
    shown_name,
)
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast
from scalerl.scaling.noise import noise
from scalerl.scaling.number_text import level_text, value_text

USUAL_REACH = 2.0  # times the fitted compute that is drawn where nothing further is asked
MANY_POINTS = 60  # above which points are small and have no bars
BLUE, ORANGE = PALETTE[0], PALETTE[1]


def forecast_figure(forecast: Forecast) -> Figure:
    """Draw points, law and forecast: solid where fitted, dashed with its band ahead, hollow what came later."""
    fit = forecast.fit
    furthest = max([USUAL_REACH * fit.fitted.last_compute, *(point.compute for point in forecast.points)])
    with drawing():
        figure, (axes,) = new_figure()
        axis = ComputeAxis.over([fit.curve], furthest)
        ahead = axis.steps(fit.fitted.last_compute, axis.last)
        low, middle, high = forecast.band(ahead)
        _draw_law(axes, axis, fit)
        axes.fill_between(ahead, low, high, color=ORANGE, alpha=0.2, linewidth=0, label=_band_name(forecast))
        axes.plot(
            ahead, middle, linestyle="--", color=ORANGE, linewidth=1.8, label="forecast", gid="forecast", zorder=4
        )
        _draw_points(axes, axis, fit)
        _draw_asked(axes, forecast)
        axis.put_on(axes)
        put_values_on(axes, *_ends(fit, low, high), fit.curve.metric)
        _draw_ceiling(axes, fit)
        axes.set_title(shown_name(fit.curve.name), loc="left", fontsize=11, fontweight="bold")
        axes.legend(fontsize=SMALL, frameon=False, loc="best")
    return figure


def _band_name(forecast: Forecast) -> str:
    return f"{level_text(forecast.level)} band of the level"


def _draw_law(axes: Axes, axis: ComputeAxis, fit: Fit) -> None:
    positive = fit.fitted.compute[fit.fitted.compute > 0]
    steps = axis.steps(float(positive[0]), fit.fitted.last_compute)
    axes.plot(steps, fit(steps), color=BLUE, linewidth=1.8, label="fitted law", gid="fitted", zorder=2.5)


def _draw_points(axes: Axes, axis: ComputeAxis, fit: Fit) -> None:
    curve = fit.curve
    is_fitted = np.isin(curve.compute, fit.fitted.compute)
    is_later = curve.compute > fit.fitted.last_compute
    size = 4.5 if len(curve) <= MANY_POINTS else 2.8
    if len(curve) <= MANY_POINTS:
        _draw_noise(axes, axis, curve)
    marks: tuple[tuple[NDArray[np.bool_], str, Look], ...] = (
        (is_fitted, "evaluations", {"color": BLUE, "alpha": 0.75}),
        (is_later, "came later", {"color": BLUE, "markerfacecolor": "none", "markeredgewidth": 0.9, "alpha": 0.8}),
        (~is_fitted & ~is_later, "left out", {"color": GRID, "marker": "x"}),
    )
    for chosen, label, look in marks:
        if chosen.any():
            style: Look = {"marker": "o", "linestyle": "none", "markersize": size, **look}
            axes.plot(axis.place(curve.compute[chosen]), curve.value[chosen], label=label, gid=label, **style)


def _draw_noise(axes: Axes, axis: ComputeAxis, curve: Curve) -> None:
    """One standard deviation of the sampling noise, where the number of samples is known."""
    is_known: NDArray[np.bool_] = np.isfinite(curve.num_samples) | (curve.counts is not None)
    if len(curve) < 2 or not is_known.any():
        return
    scatter = noise(curve)
    is_known = is_known & ~scatter.is_spike
    deviation: Vector = np.sqrt(scatter.typical * scatter.variance[is_known])
    axes.errorbar(
        axis.place(curve.compute[is_known]),
        curve.value[is_known],
        yerr=deviation,
        fmt="none",
        ecolor=BLUE,
        alpha=0.35,
        elinewidth=0.9,
        gid="noise",
    )


def _draw_asked(axes: Axes, forecast: Forecast) -> None:
    """A mark at each compute that was asked about."""
    x, y = [point.compute for point in forecast.points], [point.value for point in forecast.points]
    if x:
        axes.plot(x, y, linestyle="none", marker="D", color=ORANGE, markersize=4, gid="asked", zorder=4)


def _draw_ceiling(axes: Axes, fit: Fit) -> None:
    """The ceiling and its interval at the right edge; in faint ink where the points do not pin it down."""
    ceiling = fit.parameters["ceiling"]
    low, high = axes.get_ylim()
    ink, alpha = (INK, 0.8) if fit.is_identified else (GRID, 0.9)
    edge = axes.get_yaxis_transform()
    ends = np.clip([ceiling.low, ceiling.high], low, high)
    axes.plot([1.015, 1.015], ends, transform=edge, color=ink, alpha=alpha, linewidth=1.4, clip_on=False)
    if low <= ceiling.value <= high:
        style: Look = {"color": ink, "alpha": alpha, "linewidth": 0.9, "linestyle": ":"}
        axes.axhline(ceiling.value, gid="ceiling", **style)
        axes.plot(1.015, ceiling.value, "o", transform=edge, color=ink, alpha=alpha, markersize=4, clip_on=False)
    name = f"ceiling\n{value_text(ceiling.value)}" if fit.is_identified else "ceiling\nnot\nidentified"
    place = float(np.clip(ceiling.value, low, high))
    axes.text(1.03, place, name, transform=edge, va="center", fontsize=SMALL, color=INK, alpha=alpha)


def _ends(fit: Fit, low: Vector, high: Vector) -> tuple[float, float]:
    """Lowest and highest pass rate to show; a ceiling that is pinned down belongs to them."""
    rows = [fit.curve.value, low, high]
    if fit.is_identified:
        ceiling = fit.parameters["ceiling"]
        rows.append(np.array([ceiling.low, ceiling.high]))
    together = np.concatenate(rows)
    return float(together.min()), float(together.max())
