"""The ScaleRL paper's law: a logistic in log compute."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sigmoid(compute: ArrayLike, rate: ArrayLike, place: ArrayLike) -> NDArray[np.float64]:
    """Share of the gain reached at a compute: 0 at no compute, a half at the midpoint, 1 in the end.

        R_C = R_0 + (A - R_0) / (1 + (C_mid / C)^B)

    with A the ceiling, B the efficiency (`rate`), C_mid the midpoint (`place`) and R_0 the start; arXiv
    2510.13786, equation 1.
    """
    with np.errstate(divide="ignore", over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(rate) * (np.log(compute) - np.log(place))))
