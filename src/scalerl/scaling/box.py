"""A region of parameter space cut into cells, which closes in on where the mass is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scalerl.scaling.curve import Vector

MOST_PASSES = 5
DROP = 9.0  # cells less likely than the best by a factor of exp(9) are left outside
FEWEST_CELLS = 40  # that decide where the next pass looks, so that a peak between two cells is not missed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """Lowest and highest value along each axis, and the number of cells there."""

    low: Vector
    high: Vector
    shape: tuple[int, ...]

    @classmethod
    def of(cls, *axes: tuple[float, float, int]) -> Box:
        """A box with axes of (low, high, number of cells)."""
        low, high, shape = zip(*axes, strict=True)
        return cls(low=np.array(low), high=np.array(high), shape=tuple(shape))

    @property
    def width(self) -> Vector:
        """Width of a cell along each axis."""
        return (self.high - self.low) / self.shape

    def centres(self) -> list[Vector]:
        """Centres of the cells along each axis."""
        axes = zip(self.low, self.width, self.shape, strict=True)
        return [low + width * (np.arange(num) + 0.5) for low, width, num in axes]

    def with_cells(self, num_cells: Sequence[int]) -> Box:
        """The same box with other numbers of cells along its first axes."""
        return replace(self, shape=(*num_cells, *self.shape[len(num_cells) :]))

    def narrowed(self, other: Box, axes: Sequence[int]) -> Box:
        """The same box with the bounds of another along some axes, and a quarter of their width on either side."""
        low, high = self.low.copy(), self.high.copy()
        for axis in axes:
            more = (other.high[axis] - other.low[axis]) / 4
            low[axis] = max(low[axis], other.low[axis] - more)
            high[axis] = min(high[axis], other.high[axis] + more)
        return replace(self, low=low, high=high)

    def holds(self, rows: Vector) -> NDArray[np.bool_]:
        """Whether each row of numbers lies in the box."""
        return np.all((rows >= self.low) & (rows <= self.high), axis=1)

    def around(self, is_chosen: NDArray[np.bool_]) -> Box:
        """The smallest box with all chosen cells and one more on either side."""
        low, high = self.low.copy(), self.high.copy()
        for axis in range(len(low)):
            others = tuple(other for other in range(len(low)) if other != axis)
            chosen = np.flatnonzero(is_chosen.any(axis=others))
            low[axis] = max(self.low[axis], self.low[axis] + self.width[axis] * (chosen[0] - 1))
            high[axis] = min(self.high[axis], self.low[axis] + self.width[axis] * (chosen[-1] + 2))
        return replace(self, low=low, high=high)


def close_in(box: Box, log_density: Callable[[Box], Vector]) -> tuple[Box, Vector]:
    """Shrink a box to where the mass is; give the last box and the log-density of its cells."""
    for _ in range(MOST_PASSES):
        density = log_density(box)
        smaller = box.around(_likely(density))
        if (smaller.high - smaller.low >= 0.75 * (box.high - box.low)).all():
            return box, density
        box = smaller
    return box, log_density(box)


def _likely(log_density: Vector) -> NDArray[np.bool_]:
    """The cells that hold the mass, or the best few where the peak is sharper than the cells."""
    is_likely = log_density >= log_density.max() - DROP
    if is_likely.sum() >= min(FEWEST_CELLS, log_density.size):
        return is_likely
    return log_density >= np.partition(log_density, -FEWEST_CELLS, axis=None)[-FEWEST_CELLS]
