"""The runs of one recipe, a single one or several seeds, as one set of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.fit import Fit

USUAL_SPREAD = 0.016
"""Standard deviation between runs of one recipe: in the paper ceilings of three runs differ by up to 0.015."""

USUAL_SPREAD_WEIGHT = 2.0  # seeds that the usual spread counts for
NUM_DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """Runs of one recipe; `offset` is how far each draw's recipe lies from the mean of these runs.

    `orders` has the draws of each run in an order of its own, so that runs move independently of each other.
    """

    name: str
    fits: tuple[Fit, ...]
    orders: tuple[NDArray[np.int64], ...]
    offset: Vector

    def levels(self, compute: ArrayLike) -> Vector:
        """Mean level of the recipe at each compute (columns) under each draw (rows)."""
        return np.clip(self.levels_of_runs(compute) + self.offset[:, None], 0.0, 1.0)

    def levels_of_runs(self, compute: ArrayLike) -> Vector:
        """Mean level of these very runs, whatever other runs of the recipe would do."""
        return self._mean([fit.draws.levels(compute) for fit in self.fits])

    @property
    def ceiling(self) -> Vector:
        """Ceiling of the recipe under each draw."""
        return np.clip(self._mean([fit.draws.ceiling for fit in self.fits]) + self.offset, 0.0, 1.0)

    @property
    def longest(self) -> Curve:
        """The fitted part of the run that went furthest."""
        return max((fit.fitted for fit in self.fits), key=lambda curve: curve.last_compute)

    def _mean(self, parts: Sequence[Vector]) -> Vector:
        return np.mean([part[order] for part, order in zip(parts, self.orders, strict=True)], axis=0)


def spread_between_runs(groups: Sequence[Sequence[Fit]]) -> float:
    """Standard deviation between runs of one recipe, from the seeds there are and the usual one.

    Runs are compared by their level at the last compute that all runs of the group reached.
    """
    squares, freedom = USUAL_SPREAD_WEIGHT * USUAL_SPREAD**2, USUAL_SPREAD_WEIGHT
    for group in groups:
        common = min(fit.fitted.last_compute for fit in group)
        levels = np.array([float(np.median(fit.draws.levels(common))) for fit in group])
        squares += float(((levels - levels.mean()) ** 2).sum())
        freedom += len(group) - 1
    return float(np.sqrt(squares / freedom))


def recipe(name: str, fits: Sequence[Fit], *, spread: float, position: int) -> Recipe:
    """Put the runs of a recipe together; `position` tells it from an equal one in the same comparison."""
    rng = np.random.default_rng(position)
    offset = rng.standard_normal(NUM_DRAWS) * spread / np.sqrt(len(fits))
    orders = tuple(rng.permutation(np.resize(np.arange(len(fit.draws)), NUM_DRAWS)) for fit in fits)
    return Recipe(name=name, fits=tuple(fits), orders=orders, offset=offset)
