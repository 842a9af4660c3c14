"""Exponential saturation: each unit of compute closes the same part of the gap that is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def exponential(compute: ArrayLike, rate: ArrayLike, place: ArrayLike) -> NDArray[np.float64]:
    """Share of the gain reached at a compute: 0 at no compute, 63% at the scale, 1 in the end.

        R_C = R_0 + (A - R_0) (1 - exp(-C / scale))

    with A the ceiling and R_0 the start; `rate` is not used. The form that arXiv 2507.18014 fits to GRPO
    rewards over training progress.
    """
    return -np.expm1(-np.asarray(compute, dtype=float) / np.asarray(place))
