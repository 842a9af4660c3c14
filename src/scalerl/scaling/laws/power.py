"""The law of pre-training: a gap to the ceiling that shrinks as a power of compute."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def power(compute: ArrayLike, rate: ArrayLike, place: ArrayLike) -> NDArray[np.float64]:
    """Share of the gain after the reference compute: 0 there, 1 in the end, not defined much before.

        R_C = A - D / C^B = A - (A - R_ref) (C_ref / C)^B     with D = (A - R_ref) C_ref^B

    with A the ceiling, B the efficiency (`rate`), C_ref the reference (`place`, the first fitted compute) and
    R_ref the start, the value there; arXiv 2510.13786, appendix A.4. Below the reference the gap grows without
    bound, so a point at zero compute cannot be fitted.
    """
    with np.errstate(divide="ignore", over="ignore"):
        return 1 - np.exp(-np.asarray(rate) * (np.log(compute) - np.log(place)))
