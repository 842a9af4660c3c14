"""What a person without a law would predict: one number, whatever the compute asked about.

Each takes the points so far and the computes to predict, and gives a value for each.
"""

from __future__ import annotations

import numpy as np

from scalerl.scaling.curve import Curve, Vector

FEWEST_POINTS = 3
DAMPING = 0.8  # part of a trend that is left after each further step, the usual default (Gardner 1985: 0.8 to 0.98)


def last_value(curve: Curve, compute: Vector) -> Vector:
    """The last point, for ever."""
    return np.full(len(compute), curve.value[-1])


def local_level(curve: Curve, compute: Vector) -> Vector:
    """Where a line through the last fifth of the points ends, for ever."""
    level, _ = _line(curve)
    return np.full(len(compute), np.clip(level, 0.0, 1.0))


def damped_trend(curve: Curve, compute: Vector) -> Vector:
    """The local level and its slope, which fades with each further step of the size of the last ones.

    level + slope * (d + d^2 + ... + d^h)     with h steps ahead (Gardner & McKenzie 1985)
    """
    level, slope = _line(curve)
    step = float(np.mean(np.diff(curve.compute[-_num_recent(curve) :])))
    ahead = (compute - curve.last_compute) / step
    return np.clip(level + slope * step * DAMPING * (1 - DAMPING**ahead) / (1 - DAMPING), 0.0, 1.0)


def _num_recent(curve: Curve) -> int:
    return min(len(curve), max(FEWEST_POINTS, int(np.ceil(len(curve) / 5))))


def _line(curve: Curve) -> tuple[float, float]:
    """Level at the last point and slope of the least-squares line through the recent points."""
    recent = slice(-_num_recent(curve), None)
    x, y = curve.compute[recent] - curve.last_compute, curve.value[recent]
    scale = float(np.abs(x).max())
    slope, level = np.polyfit(x / scale, y, 1)
    return float(level), float(slope / scale)
