"""Where paths reach a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scalerl.scaling.curve import Curve, Vector

HORIZON = 1000.0
"""A value that is not reached within so many times the last compute counts as never reached."""

NUM_STEPS = 400


def until_the_horizon(*curves: Curve) -> Vector:
    """Computes, evenly spaced in the logarithm, from the first point of some curves to as far as one may look."""
    first = min(float(curve.compute[curve.compute > 0][0]) for curve in curves)
    return np.geomspace(first, HORIZON * max(curve.last_compute for curve in curves), NUM_STEPS)


def reached(compute: Vector, paths: Vector, value: float, now: float) -> Vector:
    """Compute at which each path (row) came to be at a value or above, or first will; infinite where it never does.

    A run that once was there and is below it `now` has not reached it.

    >>> paths = np.array([[0.2, 0.4, 0.5], [0.0, 0.1, 0.2], [0.4, 0.2, 0.4]])
    >>> reached(np.array([1.0, 100.0, 10_000.0]), paths, 0.3, now=100.0).round(9).tolist()
    [10.0, inf, 1000.0]
    """
    last = int(np.searchsorted(compute, now, side="right")) - 1
    is_below, num_steps = paths < value, paths.shape[1]
    since = last + 1 - np.argmax(is_below[:, last::-1], axis=1)  # the step after the last one below, up to now
    since = np.where(is_below[:, : last + 1].any(axis=1), since, 0)
    later = last + np.argmin(is_below[:, last:], axis=1)
    step = np.where(is_below[:, last], later, since)
    is_there = ~is_below[np.arange(len(paths)), np.minimum(step, num_steps - 1)]
    return np.where(is_there, _between(compute, paths, value, step), np.inf)


def _between(compute: Vector, paths: Vector, value: float, step: NDArray[np.int64]) -> Vector:
    """Compute between a step and the one before at which a straight line in log compute passes the value."""
    rows, before, logs = np.arange(len(paths)), np.maximum(step - 1, 0), np.log(compute)
    low, high = paths[rows, before], paths[rows, step]
    part = np.clip((value - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return np.exp(logs[before] + part * (logs[step] - logs[before]))
