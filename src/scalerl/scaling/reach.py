"""Where paths first reach a value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from scalerl.scaling.curve import Curve, Vector

HORIZON = 1000.0
"""A value that is not reached within so many times the last compute counts as never reached."""

NUM_STEPS = 400


def first_reached(levels: Callable[[ArrayLike], Vector], value: float, curve: Curve) -> Vector:
    """Compute at which each path first reaches a value, infinite where it does not within the horizon.

    `levels` gives the paths (rows) at computes (columns); they are followed from the first point of `curve` on.
    """
    first = float(curve.compute[curve.compute > 0][0])
    log_compute = np.linspace(np.log(first), np.log(HORIZON) + np.log(curve.last_compute), NUM_STEPS)
    paths = levels(np.exp(log_compute))
    is_there = paths >= value
    step = np.argmax(is_there, axis=1)
    rows = np.arange(len(paths))
    before, after = paths[rows, np.maximum(step - 1, 0)], paths[rows, step]
    part = (value - before) / np.where(after > before, after - before, 1.0)
    back = np.where(step > 0, (1 - part) * (log_compute[1] - log_compute[0]), 0.0)
    return np.where(is_there.any(axis=1), np.exp(log_compute[step] - back), np.inf)
