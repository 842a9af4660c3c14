"""The runs of one recipe, a single one or several seeds, as one set of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import generator
from scalerl.scaling.fit import Fit
from scalerl.scaling.reach import first_reached

USUAL_SPREAD = 0.016
"""Standard deviation between runs of one recipe: three runs of the paper's differ by about 0.015 in the ceiling."""

USUAL_SPREAD_WEIGHT = 2.0  # seeds that the usual spread counts for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """Runs of one recipe; `offset` is how far each draw's recipe lies from the mean of these runs."""

    name: str
    fits: tuple[Fit, ...]
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

    def first_reached(self, value: float) -> Vector:
        """Compute at which each draw first reaches a value, infinite where it never does."""
        return first_reached(self.levels, value, self.longest)

    def _mean(self, parts: Sequence[Vector]) -> Vector:
        """Mean over the runs, each run's draws in an order of its own and as many as there are offsets."""
        num_draws = len(self.offset)
        rows = [
            generator(fit.fitted).permutation(np.resize(np.arange(len(fit.draws)), num_draws)) for fit in self.fits
        ]
        return np.mean([part[row] for part, row in zip(parts, rows, strict=True)], axis=0)


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


def recipe(name: str, fits: Sequence[Fit], spread: float, num_draws: int = 2000) -> Recipe:
    """Put the runs of a recipe together."""
    rng = np.random.default_rng(generator(fits[0].fitted).integers(2**32))
    offset = rng.standard_normal(num_draws) * spread / np.sqrt(len(fits))
    return Recipe(name=name, fits=tuple(fits), offset=offset)
