"""Where draws are proposed before they are weighed by their exact density.

First from the cells of a grid, then from clouds around the draws so far (population Monte Carlo, Cappé et al.
2004). All are weighed against the mixture of what proposed, so that neither a coarse grid nor a bad cloud leaves
a draw with an outsized weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scalerl.scaling.box import Box
from scalerl.scaling.curve import Vector

NUM_KERNELS = 60
KERNEL_WIDTH = 0.55  # of the cloud's own deviations: Silverman's rule for four numbers and a few hundred draws


class Proposal(Protocol):
    """Something to draw parameter sets from, which knows the density it draws with."""

    def draw(self, num_draws: int, rng: np.random.Generator) -> Vector:
        """Rows of parameter sets."""
        ...

    def log_density_at(self, rows: Vector) -> Vector:
        """Log-density of parameter sets."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Even draws inside the cells of a box, each cell as often as its density says."""

    box: Box
    log_density: Vector  # of each cell, summing with the volumes to 1

    @classmethod
    def of(cls, box: Box, log_density: Vector) -> Cells:
        """Normalise the density of a box's cells."""
        peak = log_density.max()
        free = box.width[box.width > 0]
        total = peak + np.log(np.exp(log_density - peak).sum()) + np.log(free).sum()
        return cls(box=box, log_density=log_density - total)

    def draw(self, num_draws: int, rng: np.random.Generator) -> Vector:
        """Rows of parameter sets."""
        flat = np.exp(self.log_density - self.log_density.max()).ravel()
        cells = np.stack(np.unravel_index(evenly(flat, num_draws, rng), self.box.shape), axis=1)
        return self.box.low + self.box.width * (cells + rng.random(cells.shape))

    def log_density_at(self, rows: Vector) -> Vector:
        """Log-density of parameter sets, minus infinity outside of the box."""
        width = np.where(self.box.width > 0, self.box.width, 1.0)
        cells = np.floor((rows - self.box.low) / width).astype(int)
        is_inside = ((cells >= 0) & (cells < self.box.shape)).all(axis=1)
        inner = np.clip(cells, 0, np.array(self.box.shape) - 1)
        return np.where(is_inside, self.log_density[tuple(inner.T)], -np.inf)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cloud:
    """Normal kernels around some draws, all of one shape; `to_unit` maps a free axis's offset to unit normals."""

    centres: Vector
    spread: Vector
    to_unit: Vector
    is_free: NDArray[np.bool_]

    @classmethod
    def around(cls, rows: Vector, weights: Vector, least: Vector, rng: np.random.Generator) -> Cloud:
        """Kernels around draws picked by weight, as wide as a part of the draws' own covariance.

        `least` is a deviation along each axis that the kernels keep where a few draws hold all the weight.
        """
        is_free = least > 0
        covariance = np.cov(rows[:, is_free].T, aweights=weights + 1e-9 * weights.max())
        covariance = KERNEL_WIDTH**2 * np.atleast_2d(covariance) + np.diag(least[is_free] ** 2)
        spread: Vector = np.linalg.cholesky(covariance).astype(np.float64)
        return cls(
            centres=rows[evenly(weights, NUM_KERNELS, rng)],
            spread=spread,
            to_unit=np.linalg.inv(spread).astype(np.float64),
            is_free=is_free,
        )

    def draw(self, num_draws: int, rng: np.random.Generator) -> Vector:
        """Rows of parameter sets."""
        rows = self.centres[np.arange(num_draws) % len(self.centres)].copy()
        rows[:, self.is_free] += rng.standard_normal((num_draws, len(self.spread))) @ self.spread.T
        return rows

    def log_density_at(self, rows: Vector) -> Vector:
        """Log-density of parameter sets."""
        at, around = (part[:, self.is_free] @ self.to_unit.T for part in (rows, self.centres))
        squared = (at**2).sum(axis=1)[:, None] + (around**2).sum(axis=1) - 2 * at @ around.T
        kernels = np.exp(-0.5 * np.maximum(squared, 0.0)).sum(axis=1) / len(around)
        constant = np.log(np.diag(self.to_unit)).sum() - 0.5 * len(self.spread) * np.log(2 * np.pi)
        with np.errstate(divide="ignore"):
            return np.log(kernels) + constant


def evenly(weights: Vector, num_draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices drawn in proportion to weights, as evenly as whole numbers allow."""
    cumulative = np.cumsum(weights)
    at = (np.arange(num_draws) + rng.random()) / num_draws * cumulative[-1]
    return np.minimum(np.searchsorted(cumulative, at), len(weights) - 1)
