"""The slow wander of a run about its law.

A real run is not its law plus independent noise: it strays for a while in one direction. Left out, this makes
every band too narrow and every last point count for nothing. Here it is an Ornstein-Uhlenbeck process in log
compute: near the last point the forecast keeps to the level the run is at, far from it to the law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalerl.scaling.curve import Vector

MEMORY = 6.0
"""After so many natural logarithms of compute a deviation has faded to 1/e.

On 66 public validation curves 3 to 12 forecast equally well; shorter memories lose on curves that fall.
"""


def correlation(compute: Vector, other: Vector) -> Vector:
    """Correlation of the wander at two computes; there is none at zero compute, where nothing was trained."""
    trained = (compute > 0)[:, None] & (other > 0)[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(np.log(compute)[:, None] - np.log(other)[None])
    return np.where(trained, np.exp(-np.where(trained, distance, 0.0) / MEMORY), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Basis:
    """Coordinates in which noise and wander are independent for every size of either.

    With N the noise and K the correlation, N^-1/2 K N^-1/2 = Q diag(strength) Q': the covariance
    factor * N + size^2 * K then has the variances factor + size^2 * strength along the columns of Q.
    """

    to: Vector
    strength: Vector

    def project(self, rows: Vector) -> Vector:
        """Rows of numbers, one a point, in the coordinates of the basis."""
        return rows @ self.to


def basis(compute: Vector, noise_variance: Vector) -> Basis:
    """Diagonalise noise and wander together."""
    scale = 1 / np.sqrt(noise_variance)
    strength, vectors = np.linalg.eigh(scale[:, None] * correlation(compute, compute) * scale[None])
    return Basis(to=scale[:, None] * vectors, strength=np.maximum(strength, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wander:
    """Where each draw's run strays at any compute, given how it strayed at the points.

    The mean and variance are those of the process given the residuals; one number a draw (`luck`) says where in
    that distribution its path lies, so that a path is smooth and is never said to reach a level by a jitter.
    `compute` is that of the points, as a multiple of `unit`.
    """

    compute: Vector
    basis: Basis
    residual: Vector
    size: Vector
    factor: Vector
    luck: Vector
    unit: float

    def difference(self, first: float, second: float) -> Vector:
        """Deviation at the second compute minus that at the first, drawn jointly, for each draw."""
        both = np.array([first, second])
        here = correlation(both / self.unit, both / self.unit)
        reach = self.basis.project(correlation(both / self.unit, self.compute))
        variance = self.size[:, None] ** 2
        gain = variance / (self.factor[:, None] + variance * self.basis.strength)
        mean = (gain * self.residual) @ (reach[1] - reach[0])
        explained = gain @ (reach[1] - reach[0]) ** 2
        spread = here[0, 0] + here[1, 1] - 2 * here[0, 1] - explained
        return mean + self.luck * self.size * np.sqrt(np.maximum(spread, 0.0))

    def __call__(self, compute: Vector) -> Vector:
        """Deviation from the law at each compute (columns) for each draw (rows)."""
        reach = self.basis.project(correlation(compute / self.unit, self.compute))
        variance = self.size[:, None] ** 2
        gain = variance / (self.factor[:, None] + variance * self.basis.strength)
        mean = (gain * self.residual) @ reach.T
        explained = gain @ (reach**2).T
        trained = np.where(compute > 0, 1.0, 0.0)
        spread = self.size[:, None] * np.sqrt(np.maximum(trained - explained, 0.0))
        return mean + self.luck[:, None] * spread
