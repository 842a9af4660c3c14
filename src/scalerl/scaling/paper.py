"""The ScaleRL paper's own procedure: a grid of ceilings and midpoints, least squares for the efficiency."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize
from scipy.special import expit

from scalerl.errors import InputError
from scalerl.scaling.curve import UNIT_NAMES, Curve, Unit, Vector
from scalerl.scaling.draws import Draws, Parameters, generator
from scalerl.scaling.law import LAWS, Law
from scalerl.scaling.noise import noise
from scalerl.scaling.number_text import compute_text
from scalerl.scaling.squared_error import NUM_DRAWS, likely_rows

NUM_MIDPOINTS = 100
GPU_HOURS = (100.0, 40_000.0)
FIRST_GUESS = 1.0  # the default of `curve_fit`
MOST_ROUNDS = 100
LONGEST_STEP = 100.0  # as in MINPACK, which `curve_fit` calls
TOLERANCE = 1e-9
SMALLEST_GAIN = 1e-14
COARSE = 0.25  # of the midpoint that was found, above which a step of the grid says little about it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PaperGrid:
    """Every ceiling that is tried with every midpoint."""

    ceilings: Vector
    midpoints: Vector

    @classmethod
    def stated(cls, curve: Curve) -> PaperGrid:
        """The grid that the paper states; in other units than GPU-hours, midpoints up to the last compute.

        The midpoints that the paper prints do not lie on it: seven lie on 100 values from 100 to 4,000, so
        that its authors seem to have chosen the range run by run. `over` gives such a grid.
        """
        last = curve.last_compute
        return cls.over(*(GPU_HOURS if curve.unit == "gpu_hours" else (last / NUM_MIDPOINTS, last)))

    @classmethod
    def over(cls, first: float, last: float) -> PaperGrid:
        """The paper's 71 ceilings with 100 evenly spaced midpoints in this range."""
        return cls(ceilings=np.arange(450, 801, 5) / 1000, midpoints=np.linspace(first, last, NUM_MIDPOINTS))

    def with_ceiling(self, ceiling: float) -> PaperGrid:
        """The same midpoints with a single ceiling."""
        return replace(self, ceilings=np.array([ceiling]))

    def in_words(self, unit: Unit) -> str:
        """Say which ceilings and midpoints were tried."""
        low, high = self.ceilings[[0, -1]]
        first, last = self.midpoints[[0, -1]]
        tried = f"{len(self.ceilings)} ceilings from {low:.3f} to {high:.3f}" if low < high else f"ceiling {low:g}"
        return f"{tried}, {len(self.midpoints)} midpoints from {first:,.6g} to {last:,.6g} {UNIT_NAMES[unit]}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Best efficiency and its squared error in every cell: rows are ceilings, columns midpoints."""

    efficiency: Vector
    squared_error: Vector


def paper(
    curve: Curve,
    law: Law,
    *,
    ceiling: float | None = None,
    grid: PaperGrid | None = None,
    with_curve_fit: bool = False,
) -> Draws:
    """Fit the sigmoid as the ScaleRL paper does (arXiv 2510.13786, appendix A.5).

    For each ceiling and midpoint of the grid, fit the efficiency alone by unweighted least squares, without
    bounds and from a first guess of 1, and keep the cell with the smallest squared error. All cells are
    fitted at once; `with_curve_fit` runs scipy's `curve_fit` cell by cell as the paper did, which finds the
    same cell and takes seconds. The start is not fitted but taken by `start_of`. The paper gives no
    intervals: the draws are the cells that fit about as well. A curve that lies outside the grid, say far
    below a ceiling of 0.45, gets the least bad cell, whose efficiency can be negative.
    """
    if law.name != "sigmoid":
        raise InputError(f"law is {law.name!r}; the paper's procedure fits only 'sigmoid'")
    grid = PaperGrid.stated(curve) if grid is None else grid
    if ceiling is not None:
        grid = grid.with_ceiling(ceiling)
    cells = (cells_by_curve_fit if with_curve_fit else cells_at_once)(curve, grid)
    return _draws(curve, law, grid, cells)


def coarseness(curve: Curve, draws: Draws) -> str | None:
    """Say so where the steps of the stated midpoints are wide for this run."""
    step = float(np.diff(PaperGrid.stated(curve).midpoints[:2])[0])
    if step <= COARSE * draws.best.place:
        return None
    return f"the grid's midpoints are {compute_text(step)} {UNIT_NAMES[curve.unit]} apart, too coarse for this run"


def start_of(curve: Curve) -> float:
    """The level before training: the value at zero compute, else that of the first point."""
    return float(curve.value[0])


def cells_at_once(curve: Curve, grid: PaperGrid) -> Cells:
    """Fit the efficiency in all cells, those of one ceiling together."""
    start = start_of(curve)
    compute, value = _fitted_points(curve)
    log_ratio = np.log(compute) - np.log(grid.midpoints)[:, None]
    columns = [_efficiencies(log_ratio, value - start, ceiling - start) for ceiling in grid.ceilings]
    efficiency, squared_error = (np.stack(rows) for rows in zip(*columns, strict=True))
    return Cells(efficiency=efficiency, squared_error=squared_error)


def cells_by_curve_fit(curve: Curve, grid: PaperGrid) -> Cells:
    """Fit the efficiency cell by cell with scipy's `curve_fit` and its defaults."""
    fits = [
        [_by_curve_fit(curve, float(ceiling), float(midpoint)) for midpoint in grid.midpoints]
        for ceiling in grid.ceilings
    ]
    efficiency, squared_error = np.moveaxis(np.array(fits), -1, 0)
    return Cells(efficiency=efficiency, squared_error=squared_error)


def _by_curve_fit(curve: Curve, ceiling: float, midpoint: float) -> tuple[float, float]:
    """Efficiency and squared error of one cell; where scipy gives up, an infinite error: a skipped cell."""
    start = start_of(curve)
    compute, value = _fitted_points(curve)

    def formula(compute: Vector, rate: float) -> Vector:
        return LAWS["sigmoid"](compute, ceiling=ceiling, rate=rate, place=midpoint, start=start)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optimize.OptimizeWarning)  # about the covariance, which is not used
        try:
            rate = float(optimize.curve_fit(formula, compute, value)[0][0])
        except RuntimeError:
            return FIRST_GUESS, np.inf
    return rate, float(np.sum((formula(compute, rate) - value) ** 2))


def _fitted_points(curve: Curve) -> tuple[Vector, Vector]:
    # At zero compute the law is the start whatever the efficiency: such a point cannot tell cells apart.
    is_fitted = curve.compute > 0
    return curve.compute[is_fitted], curve.value[is_fitted]


def _efficiencies(log_ratio: Vector, rise: Vector, gain: float) -> tuple[Vector, Vector]:
    """Best efficiency and its squared error in each row, by damped Gauss-Newton steps.

    With s = 1 / (1 + (C_mid / C)^B), d = (A - R_0) ds/dB and residuals r, a step is sum(r d) / sum(d^2),
    quartered in a row where it raises the squared error and doubled again, up to whole, where it does not.
    """
    rate, error = np.full(len(log_ratio), FIRST_GUESS), np.full(len(log_ratio), np.inf)
    step, damping = np.zeros_like(rate), np.ones_like(rate)
    moving = np.arange(len(rate))
    for _ in range(MOST_ROUNDS):
        furthest = LONGEST_STEP * (1 + np.abs(rate))
        tried = rate[moving] + np.clip(damping * step, -furthest, furthest)[moving]
        share = expit(tried[:, None] * log_ratio[moving])
        residual, derivative = rise - gain * share, gain * share * (1 - share) * log_ratio[moving]
        tried_error, slope, curvature = (
            np.einsum("ij,ij->i", one, other)
            for one, other in ((residual, residual), (residual, derivative), (derivative, derivative))
        )
        is_better = tried_error <= error[moving]
        is_done = is_better & (error[moving] - tried_error <= SMALLEST_GAIN * tried_error)
        better = moving[is_better]
        rate[better], error[better] = tried[is_better], tried_error[is_better]
        whole = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        step[better] = whole[is_better]
        damping[moving] = np.where(is_better, np.minimum(2 * damping[moving], 1.0), damping[moving] / 4)
        is_done |= np.abs(damping * step)[moving] <= TOLERANCE * (1 + np.abs(rate[moving]))
        moving = moving[~is_done]
        if not len(moving):
            break
    return rate, error


def _draws(curve: Curve, law: Law, grid: PaperGrid, cells: Cells) -> Draws:
    """The best cell, and cells drawn by exp(-(error - least error) / (2 s^2)).

    s^2 is the least error over n - 3, and at least the sampling noise.
    """
    error = cells.squared_error.ravel()
    num_fitted = int(np.sum(curve.compute > 0))
    variance = max(error.min() / max(num_fitted - 3, 1), float(noise(curve).variance.mean()))
    best, rows = int(error.argmin()), likely_rows(error, variance, generator(curve))
    ceilings, midpoints = (part.ravel() for part in np.meshgrid(grid.ceilings, grid.midpoints, indexing="ij"))
    efficiency, start = cells.efficiency.ravel(), start_of(curve)
    return Draws(
        law=law,
        best=Parameters(
            ceiling=float(ceilings[best]),
            rate=float(efficiency[best]),
            place=float(midpoints[best]),
            start=start,
        ),
        ceiling=ceilings[rows],
        rate=efficiency[rows],
        place=midpoints[rows],
        start=np.full(NUM_DRAWS, start),
        ceiling_bounds=(float(grid.ceilings[0]), float(grid.ceilings[-1])),
    )
