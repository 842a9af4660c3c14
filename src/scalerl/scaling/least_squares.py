"""Weighted least squares: the parameter set that lies nearest to the points.

Only the bend (log rate, log place) is searched; start and ceiling follow from it in closed form (variable
projection, Golub and Pereyra 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import Draws, Parameters, generator
from scalerl.scaling.law import Law
from scalerl.scaling.noise import noise
from scalerl.scaling.squared_error import Moments, best_levels, likely_rows

RATES = (0.05, 20.0)
PLACES = (0.1, 100.0)  # of the first and of the last fitted compute
NUM_STARTS = 3
MOST_STEPS = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """What is fitted, with compute divided by the last one; a bend is a row (log rate, log place)."""

    law: Law
    compute: Vector
    value: Vector
    weight: Vector
    ceiling: float | None
    lower: Vector
    upper: Vector

    @classmethod
    def of(cls, curve: Curve, law: Law, ceiling: float | None) -> Problem:
        """Choose the points and the bounds of the search."""
        compute = curve.compute / curve.last_compute
        first = compute[compute > 0][0]
        rates = RATES if law.rate is not None else (1.0, 1.0)
        places = (PLACES[0] * first, PLACES[1]) if law.is_place_free else (first, first)
        # A law that only starts at its place cannot say anything about zero compute.
        used = (compute > 0) | law.is_place_free
        return cls(
            law=law,
            compute=compute[used],
            value=curve.value[used],
            weight=1 / noise(curve).variance[used],
            ceiling=ceiling,
            lower=np.log([rates[0], places[0]]),
            upper=np.log([rates[1], places[1]]),
        )

    @property
    def noise_freedom(self) -> int:
        """How many points are left over after every free number took one."""
        return len(self.value) - self.law.num_free + (self.ceiling is not None)

    def moments(self, bends: Vector) -> Moments:
        """What the levels under each bend depend on."""
        rate, place = np.exp(bends).T[..., None]
        return Moments.of(self.law.share(self.compute, rate, place), self.value, self.weight)

    def levels(self, bends: Vector) -> tuple[Vector, Vector]:
        """Best start and ceiling under each bend."""
        return best_levels(self.moments(bends), self.ceiling)

    def squared_error(self, bends: Vector) -> Vector:
        """Least squared error under each bend, in pieces that fit in memory."""
        pieces = np.array_split(bends, 1 + bends.shape[0] * len(self.value) // 1_000_000)
        each = (self.moments(piece) for piece in pieces)
        return np.concatenate([one.squared_error(*best_levels(one, self.ceiling)) for one in each])

    def residuals(self, bend: Vector) -> Vector:
        """Weighted residuals under one bend and its best levels."""
        start, ceiling = self.levels(bend[None])
        rate, place = np.exp(bend)
        fitted = self.law(self.compute, ceiling=ceiling, rate=rate, place=place, start=start)
        return np.sqrt(self.weight) * (self.value - fitted)


def least_squares(curve: Curve, law: Law, *, ceiling: float | None = None) -> Draws:
    """Fit a law by least squares, each point weighted by its binomial variance where that is known.

    The draws are parameter sets weighed by exp(-(error - least error) / (2 s^2)) with s^2 the error per point
    left over, at least the sampling noise: what the points alone say, with no prior but the bounds of the
    search. For the power law a point at zero compute is left out.

    >>> from scalerl.scaling.law import law
    >>> curve = Curve.of([0, 1, 4, 6, 12], [0.2, 0.28, 0.4, 0.44, 0.5], unit="steps")
    >>> {name: round(number, 3) for name, number in least_squares(curve, law("sigmoid")).best_named().items()}
    {'ceiling': 0.6, 'efficiency': 1.0, 'midpoint': 4.0, 'start': 0.2}
    """
    problem, rng = Problem.of(curve, law, ceiling), generator(curve)
    best = _best_bend(problem)
    error = float(np.sum(problem.residuals(best) ** 2))
    scale = max(error / max(problem.noise_freedom, 1), 1.0)
    bends = _likely_bends(problem, best, error, scale, rng)
    # Refitting the levels to shaken points draws from their normal distribution, projected onto the bounds.
    start, top = best_levels(problem.moments(bends).shaken(scale, rng), ceiling)
    rate, place = np.exp(bends).T
    return Draws(
        law=law,
        best=_parameters(problem, best, curve.last_compute),
        ceiling=top,
        rate=rate,
        place=place * curve.last_compute,
        start=start,
    )


def _parameters(problem: Problem, bend: Vector, last_compute: float) -> Parameters:
    start, ceiling = problem.levels(bend[None])
    rate, place = np.exp(bend)
    return Parameters(
        ceiling=float(ceiling[0]), rate=float(rate), place=float(place) * last_compute, start=float(start[0])
    )


def _best_bend(problem: Problem) -> Vector:
    """The best of the local minima that are reached from the best cells of a coarse grid."""
    is_free = problem.upper > problem.lower
    num_cells = np.where(is_free, 40, 1)
    bends = _grid(problem.lower, problem.upper, num_cells)
    errors = problem.squared_error(bends)
    lowest = _lowest(errors.reshape(num_cells), NUM_STARTS)
    return min((_descend(problem, bends[row], is_free) for row in lowest), key=lambda found: found[0])[1]


def _lowest(errors: Vector, num: int) -> NDArray[np.intp]:
    """Flat positions of the lowest cells that no neighbour undercuts."""
    padded = np.pad(errors, 1, constant_values=np.inf)
    height, width = errors.shape
    around = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    is_lowest = errors <= np.min(around, axis=0)
    rows = np.flatnonzero(is_lowest)
    return rows[np.argsort(errors.ravel()[rows], kind="stable")[:num]]


def _descend(problem: Problem, start: Vector, is_free: NDArray[np.bool_]) -> tuple[float, Vector]:
    """Squared error and bend at the local minimum near a start."""

    def bend(free: Vector) -> Vector:
        whole = start.copy()
        whole[is_free] = free
        return whole

    def residuals(free: Vector) -> Vector:
        return problem.residuals(bend(free))

    bounds = problem.lower[is_free], problem.upper[is_free]
    # Ten evaluations settle a smooth problem; where a level leaves its bound there is a kink to rattle at.
    found = optimize.least_squares(
        residuals, start[is_free], bounds=bounds, xtol=1e-10, ftol=1e-12, max_nfev=MOST_STEPS
    )
    return float(2 * found.cost), bend(found.x)


def _likely_bends(problem: Problem, best: Vector, error: float, scale: float, rng: np.random.Generator) -> Vector:
    """Draw bends by their squared error, from a grid that closes in on those that matter."""
    lower, upper = problem.lower, problem.upper
    is_free = upper > lower
    for _ in range(3):
        num_cells = np.where(is_free, 24, 1)
        bends = _grid(lower, upper, num_cells)
        near = bends[problem.squared_error(bends) - error < 2 * 9.0 * scale]  # all but e^-9 of the weight
        reach, width = np.vstack([near, best]), (upper - lower) / num_cells
        lower = np.maximum(lower, reach.min(axis=0) - width)
        upper = np.minimum(upper, reach.max(axis=0) + width)
    num_cells = np.where(is_free, 64, 1)
    within = rng.uniform(-0.5, 0.5, (int(np.prod(num_cells)), 2)) * (upper - lower) / num_cells
    bends = np.vstack([best, _grid(lower, upper, num_cells) + within])
    return bends[likely_rows(problem.squared_error(bends), scale, rng)]


def _grid(lower: Vector, upper: Vector, num_cells: Vector) -> Vector:
    """Centres of equal cells between two corners, one a row."""
    axes = [
        low + (high - low) * (np.arange(num) + 0.5) / num
        for low, high, num in zip(lower, upper, num_cells, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
