"""How good a predicted distribution was, once the value is known."""

from __future__ import annotations

import numpy as np

from scalerl.scaling.curve import Vector


def crps(draws: Vector, actual: float) -> float:
    """Continuous ranked probability score of draws: E|x - actual| - E|x - x'|/2 (Gneiting & Raftery 2007).

    It is in the units of the value, smaller is better, and for a single number it is the absolute error.

    >>> crps(np.array([0.5]), 0.75)
    0.25
    >>> crps(np.array([0.0, 1.0]), 0.5)
    0.25
    """
    ordered = np.sort(draws)
    num = len(ordered)
    ranks = 2 * np.arange(1, num + 1) - num - 1
    return float(np.abs(ordered - actual).mean() - (ranks * ordered).sum() / num**2)


def interval_score(low: float, high: float, actual: float, level: float) -> float:
    """Width of an interval plus 2/(1 - level) times how far the value lies outside (Gneiting & Raftery 2007).

    >>> round(interval_score(0.4, 0.6, 0.65, 0.9), 3)
    1.2
    """
    outside = max(low - actual, 0.0, actual - high)
    return (high - low) + 2 / (1 - level) * outside
