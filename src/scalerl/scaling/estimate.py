"""A number with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalerl.errors import InputError

LEVEL = 0.9
"""Probability that an interval holds what it is about, unless another is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number and the interval that holds it with a stated probability."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def estimate(draws: ArrayLike, level: float, *, value: float | None = None) -> Estimate:
    """Median and central interval of draws; a given `value` stands in for the median.

    >>> estimate([1, 2, 3, 4, 5], 0.5)
    Estimate(value=3.0, low=2.0, high=4.0)
    """
    low_tail, high_tail = tails(level)
    low, middle, high = (
        float(part) for part in np.quantile(np.asarray(draws, dtype=float), [low_tail, 0.5, high_tail])
    )
    centre = middle if value is None else value
    return Estimate(value=centre, low=min(low, centre), high=max(high, centre))


def tails(level: float) -> tuple[float, float]:
    """The two quantiles that bound a central interval."""
    if not 0 < level < 1:
        raise InputError(f"level is {level:g}; expected a probability between 0 and 1, such as 0.9")
    return (1 - level) / 2, (1 + level) / 2
