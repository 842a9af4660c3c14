"""What all figures share: size, colours, and an axis of compute in log scale that has room for zero."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter
from numpy.typing import ArrayLike

from scalerl.scaling.curve import METRIC_NAMES, UNIT_NAMES, Curve, Metric, Unit, Vector
from scalerl.scaling.number_text import compute_text

Look: TypeAlias = dict[str, Any]
"""How something is drawn: arguments for matplotlib."""

INK = "#1b1f24"
GRID = "#9aa4af"
# Okabe and Ito's colours, which people who see no red or no green can tell apart; yellow is too faint to draw with.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c6d46", "#7a7f87")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
SMALL = 9.5  # size of words inside a plot
LETTER = 0.025  # width of one in the labels of an axis, as a part of the axis
SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # a run may be called $HOME
    "font.size": 11.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
}


def new_figure(width: float = 5.6, height: float = 3.9, num_rows: int = 1) -> tuple[Figure, list[Axes]]:
    """An empty figure with its axes, one above the other."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = [figure.add_subplot(num_rows, 1, row + 1) for row in range(num_rows)]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(True, color=GRID, alpha=0.25, linewidth=0.7)
        one.set_axisbelow(True)
    return figure, axes


def drawing() -> AbstractContextManager[None]:
    """The settings under which a figure is made; the caller's own settings stay as they are."""
    return mpl.rc_context(SETTINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeAxis:
    """An axis of compute in log scale: from `first` to `last`, with zero at a place of its own left of both."""

    unit: Unit
    first: float
    last: float
    has_zero: bool

    @classmethod
    def over(cls, curves: list[Curve], furthest: float) -> ComputeAxis:
        """The axis that holds all points of the curves and a compute ahead of them."""
        compute = np.concatenate([curve.compute for curve in curves])
        positive = compute[compute > 0]
        return cls(
            unit=curves[0].unit,
            first=float(positive.min()),
            last=max(furthest, float(positive.max())),
            has_zero=bool((compute == 0).any()),
        )

    @property
    def zero_place(self) -> float:
        """Where zero is drawn: a tenth of the axis left of the first compute."""
        return self.first * (self.first / self.last) ** 0.1

    def place(self, compute: ArrayLike) -> Vector:
        """Where a compute is drawn."""
        x = np.asarray(compute, dtype=float)
        return np.where(x > 0, x, self.zero_place)

    def steps(self, low: float | None = None, high: float | None = None, num: int = 200) -> Vector:
        """Computes evenly spaced on the axis."""
        return np.geomspace(low or self.first, high or self.last, num)

    def put_on(self, axes: Axes) -> None:
        """Set the scale, the ticks, the name and, where zero is drawn, the mark of a broken axis."""
        margin = (self.last / self.zero_place) ** 0.03
        axes.set_xscale("log")
        axes.set_xlim((self.zero_place if self.has_zero else self.first) / margin, self.last * margin)
        ticks = _ticks(self.first, self.last)
        axes.xaxis.set_major_locator(FixedLocator([self.zero_place, *ticks] if self.has_zero else ticks))
        axes.xaxis.set_major_formatter(FuncFormatter(self._tick_text))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(f"Compute ({UNIT_NAMES[self.unit]}, log scale)")
        if self.has_zero:
            between = self.zero_place**0.5 * self.first**0.5
            axes.text(between, 0, "//", transform=axes.get_xaxis_transform(), ha="center", va="center")

    def _tick_text(self, place: float, _position: int | None = None) -> str:
        return "0" if self.has_zero and place <= self.zero_place * 1.0001 else compute_text(place)


def put_values_on(axes: Axes, low: float, high: float, metric: Metric) -> None:
    """Let the value axis hold these values, with a margin that stays within 0 to 1."""
    margin = 0.06 * max(high - low, 0.02)
    axes.set_ylim(max(low - margin, -0.01), min(high + margin, 1.01))
    axes.set_ylabel(METRIC_NAMES[metric])


def put_shares_on(axes: Axes) -> None:
    """Let both axes run from 0 to 100%."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlim(0, 1.02)
    axes.set_ylim(-0.02, 1.02)


def shown_name(name: str, width: int = 48) -> str:
    """A run's name, cut where it is long; a leading underscore would hide it from a legend."""
    flat = " ".join(name.split())
    short = flat if len(flat) <= width else f"{flat[: width // 2 - 1]}…{flat[1 - width // 2 :]}"
    return f" {short}" if short.startswith("_") else short


def _ticks(first: float, last: float) -> list[float]:
    """Round computes between two: 1, 2 and 5 times powers of ten, fewer where the axis is long."""
    low, high = int(np.floor(np.log10(first))), int(np.ceil(np.log10(last)))
    choices = (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 4), ((1,), 8))
    for multiples, every in choices:
        ticks = [factor * 10.0**power for power in range(low, high + 1, every) for factor in multiples]
        inside = [tick for tick in ticks if first * 0.999 <= tick <= last * 1.001]
        if _have_room(inside, np.log(last / first)):
            return inside
    return [first, last]


def _have_room(ticks: list[float], length: float) -> bool:
    """Whether the words at the ticks stay apart, on an axis of so many natural logarithms."""
    half_widths = [LETTER * len(compute_text(tick)) / 2 for tick in ticks]
    gaps = np.diff(np.log(ticks)) / length
    return all(
        gap > one + other + LETTER for gap, one, other in zip(gaps, half_widths, half_widths[1:], strict=False)
    )
