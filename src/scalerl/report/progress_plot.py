"""A curve with its forecast, drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.records import EvalPoint

POINT, MIDDLE, BAND = "\N{BLACK CIRCLE}", "\N{BOX DRAWINGS LIGHT HORIZONTAL}", "\N{LIGHT SHADE}"
AXIS_WIDTH = 7
"""Columns for the labels of the pass rate and the line beside them."""
STYLES = {POINT: "bold green", MIDDLE: "yellow", BAND: "yellow"}
SMALLEST_SPAN = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """How steps and pass rates lie on rows and columns of characters."""

    steps: int
    low: float
    high: float
    width: int
    height: int

    def column(self, step: float) -> int:
        """The column of a step."""
        return round(step / max(self.steps, 1) * (self.width - 1))

    def row(self, value: float) -> int:
        """The row of a pass rate, the highest first; what lies outside sticks to the edge."""
        share = (value - self.low) / (self.high - self.low)
        return round((1 - min(max(share, 0.0), 1.0)) * (self.height - 1))

    def value(self, row: int) -> float:
        """The pass rate in the middle of a row."""
        return self.high - row / (self.height - 1) * (self.high - self.low)


def plot(
    points: Sequence[EvalPoint], forecast: FrozenForecast | None, *, steps: int, width: int, height: int
) -> Text:
    """Draw the evaluations of one task up to now, and from there the band of the mean level to the last step."""
    frame = _frame(points, forecast, steps, width - AXIS_WIDTH, height)
    cells = [[" "] * frame.width for _ in range(frame.height)]
    if forecast is not None:
        _draw_band(cells, frame, forecast)
    for point in points:
        cells[frame.row(point.pass_rate)][frame.column(point.step)] = POINT
    return _with_axes(cells, frame)


def _frame(
    points: Sequence[EvalPoint], forecast: FrozenForecast | None, steps: int, width: int, height: int
) -> Frame:
    values = [point.pass_rate for point in points]
    if forecast is not None:
        values += [forecast.end.low, forecast.end.high]
    low, high = min(values), max(values)
    spare = max(SMALLEST_SPAN - (high - low), 0.0) / 2
    return Frame(steps=steps, low=max(low - spare, 0.0), high=min(high + spare, 1.0), width=width, height=height)


def _draw_band(cells: list[list[str]], frame: Frame, forecast: FrozenForecast) -> None:
    """Shade from the next evaluation to the end; between the two that are frozen the band is a straight line."""
    soon, end = forecast.soon, forecast.end
    at = np.array([frame.column(soon.step), frame.column(end.step)], dtype=float)
    for column in range(frame.column(soon.step), frame.column(end.step) + 1):
        low, middle, high = (
            float(np.interp(column, at, ends))
            for ends in ((soon.low, end.low), (soon.value, end.value), (soon.high, end.high))
        )
        for row in range(frame.row(high), frame.row(low) + 1):
            cells[row][column] = BAND
        cells[frame.row(middle)][column] = MIDDLE


def _with_axes(cells: list[list[str]], frame: Frame) -> Text:
    text = Text(no_wrap=True)
    labelled = {0, frame.height // 2, frame.height - 1}
    for number, row in enumerate(cells):
        label = f"{frame.value(number):5.2f} ┤" if number in labelled else "      │"
        text.append(label, style="dim")
        for cell in row:
            text.append(cell, style=STYLES.get(cell, ""))
        text.append("\n")
    first, last = "step 0", f"{frame.steps:,}"
    text.append("      └" + "─" * frame.width + "\n", style="dim")
    text.append(" " * AXIS_WIDTH + first + last.rjust(frame.width - len(first)), style="dim")
    return text
