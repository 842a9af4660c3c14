"""Whether a curve still rises, as far as its noise lets one tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalerl.pipeline.live_forecast import curve_of
from scalerl.records import EvalPoint
from scalerl.scaling.noise import noise

FEWEST_POINTS = 6
SMALL_RISE = 0.02
SURE = 1.645
"""Deviations beyond which 5% lie on one side."""
CLEAR = 3.0
"""Deviations that make a rise since the start clear."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The rise of a straight line through the later half of the evaluations, and what noise leaves open."""

    since: int
    level: float
    rise: float
    error: float
    has_risen_before: bool

    @property
    def is_none(self) -> bool:
        """Whether a rise worth having can be ruled out."""
        return self.rise + SURE * self.error < SMALL_RISE

    @property
    def is_some(self) -> bool:
        """Whether there surely is a rise, and one that may be worth having."""
        return self.rise - SURE * self.error > 0 and not self.is_none


def progress(points: Sequence[EvalPoint]) -> Progress | None:
    """Judge the later half of the evaluations, at least six; None while there are fewer after the start."""
    late = list(points[1:])[-max(FEWEST_POINTS, len(points) // 2) :]
    if len(late) < FEWEST_POINTS:
        return None
    scatter = noise(curve_of(points, "steps"))
    variance = (scatter.typical * scatter.variance)[-len(late) :]
    step, value = np.array([float(one.step) for one in late]), np.array([one.pass_rate for one in late])
    weight = 1 / variance
    centred = step - np.average(step, weights=weight)
    spread = float((weight * centred**2).sum())
    span = float(step[-1] - step[0])
    level, level_error = float(np.average(value, weights=weight)), float(1 / np.sqrt(weight.sum()))
    start_error = float(np.sqrt(scatter.typical * scatter.variance[0]))
    gain = level - points[0].pass_rate
    return Progress(
        since=late[0].step,
        level=level,
        rise=float((weight * centred * value).sum() / spread) * span,
        error=span / float(np.sqrt(spread)),
        has_risen_before=gain > max(CLEAR * float(np.hypot(level_error, start_error)), SMALL_RISE),
    )
