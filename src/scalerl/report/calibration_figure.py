"""Whether the bands held what they promised, by the back-test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtri

from scalerl.report.axes import GRID, MARKERS, PALETTE, SMALL, Look, drawing, new_figure, put_shares_on
from scalerl.scaling.backtest import LEVELS, Backtest, Outcome
from scalerl.scaling.estimate import LEVEL, tails


def calibration_figure(backtest: Backtest) -> Figure:
    """Draw how often each band held what came, and each prediction against what came."""
    outcomes = [outcome for outcome in backtest.of(backtest.ours) if outcome.has_band]
    with drawing():
        figure, (above, below) = new_figure(width=4.8, height=7.6, num_rows=2)
        _draw_coverage(above, outcomes)
        _draw_scatter(below, outcomes)
        if not outcomes:
            figure.suptitle("No cut had enough points before it to predict from.", fontsize=11)
    return figure


def _cuts(outcomes: Sequence[Outcome]) -> list[tuple[float, list[Outcome]]]:
    cuts = sorted({outcome.cut for outcome in outcomes})
    return [(cut, [outcome for outcome in outcomes if outcome.cut == cut]) for cut in cuts]


def _draw_coverage(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    axes.plot([0, 1], [0, 1], color=GRID, linewidth=1)
    for row, (cut, part) in enumerate(_cuts(outcomes)):
        held = [np.mean([outcome.is_covered(level) for outcome in part]) for level in LEVELS]
        label = f"first {cut:.0%} of the run ({len(part)} {'run' if len(part) == 1 else 'runs'})"
        axes.plot(
            LEVELS, held, marker=MARKERS[row], markersize=5, color=PALETTE[row], label=label, gid=f"cut {cut:g}"
        )
    if outcomes:
        _draw_luck(axes, min(len(part) for _, part in _cuts(outcomes)))
        axes.legend(fontsize=SMALL, frameon=False, loc="lower right")
    put_shares_on(axes)
    axes.set_xlabel("Promised by the band")
    axes.set_ylabel("Held what came")


def _draw_luck(axes: Axes, num_runs: int) -> None:
    """How far from the diagonal luck alone would take bands that are right."""
    promised = np.linspace(0, 1, 101)
    reach = float(ndtri(tails(LEVEL)[1])) * np.sqrt(promised * (1 - promised) / num_runs)
    low, high = np.clip([promised - reach, promised + reach], 0, 1)
    axes.fill_between(promised, low, high, color=GRID, alpha=0.2, linewidth=0, label="by luck (90%)", gid="luck")


def _draw_scatter(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    axes.set_xlabel("What came (mean of the last points)")
    axes.set_ylabel("Predicted, with 90% band")
    ends: list[float] = []
    for row, (cut, part) in enumerate(_cuts(outcomes)):
        actual = np.array([outcome.actual for outcome in part])
        middle = np.array([outcome.predicted for outcome in part])
        low, high = np.array([outcome.band(LEVEL) for outcome in part]).T
        ends += [*actual, *low, *high]
        style: Look = {"fmt": MARKERS[row], "markersize": 5, "elinewidth": 1.0, "color": PALETTE[row], "alpha": 0.8}
        reach = [np.maximum(middle - low, 0), np.maximum(high - middle, 0)]
        axes.errorbar(actual, middle, yerr=reach, label=f"first {cut:.0%}", **style)
    if ends:
        around = (min(ends) - 0.02, max(ends) + 0.02)
        axes.plot(around, around, color=GRID, linewidth=1, gid="right")
        axes.set_xlim(*around)
        axes.set_ylim(*around)
        axes.legend(fontsize=SMALL, frameon=False, loc="upper left")
