"""Where paths first reach a value."""

from __future__ import annotations

import numpy as np

from scalerl.scaling.curve import Curve, Vector

HORIZON = 1000.0
"""A value that is not reached within so many times the last compute counts as never reached."""

NUM_STEPS = 400


def until_the_horizon(*curves: Curve) -> Vector:
    """Computes, evenly spaced in the logarithm, from the first point of some curves to as far as one may look."""
    first = min(float(curve.compute[curve.compute > 0][0]) for curve in curves)
    return np.geomspace(first, HORIZON * max(curve.last_compute for curve in curves), NUM_STEPS)


def first_reached(compute: Vector, paths: Vector, value: float) -> Vector:
    """Compute at which each path (row) first reaches a value, infinite where it does not on these computes.

    >>> first_reached(np.array([1.0, 100.0]), np.array([[0.2, 0.4], [0.0, 0.1]]), 0.3).round(9).tolist()
    [10.0, inf]
    """
    is_there = paths >= value
    step, rows = np.argmax(is_there, axis=1), np.arange(len(paths))
    before, after = paths[rows, np.maximum(step - 1, 0)], paths[rows, step]
    part = (value - before) / np.where(after > before, after - before, 1.0)
    logs = np.log(compute)
    back = np.where(step > 0, (1 - part) * (logs[step] - logs[np.maximum(step - 1, 0)]), 0.0)
    return np.where(is_there.any(axis=1), np.exp(logs[step] - back), np.inf)
