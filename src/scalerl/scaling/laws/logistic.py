"""The four-parameter logistic in linear compute."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def logistic(compute: ArrayLike, rate: ArrayLike, place: ArrayLike) -> NDArray[np.float64]:
    """Share of the gain reached at a compute: a half at the midpoint, 1 in the end, near 0 long before.

        R_C = L + (A - L) / (1 + exp(-k (C - C_mid) / C_mid))

    with A the ceiling, L the start (the level far below the midpoint, not the value at zero compute), C_mid the
    midpoint (`place`) and k the efficiency (`rate`), made free of units by the midpoint. The textbook dose-
    response curve (Verhulst 1838), which write-ups often print instead of the paper's law in log compute.
    """
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(rate) * (np.asarray(compute, dtype=float) / np.asarray(place) - 1)))
