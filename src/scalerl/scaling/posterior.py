"""The default fit: the distribution of a law's parameters given the points.

A grid over the law's shape and the sizes of noise and wander closes in on the mass, with the levels summed out.
The grid is only a proposal: each draw from it is weighed by its exact density, so that its coarseness does not
show. There is no optimiser, hence nothing that fails to converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from scalerl.scaling.box import Box, close_in
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import Draws, Parameters, generator
from scalerl.scaling.law import Law
from scalerl.scaling.levels import Tops, headrooms, imposed, start_given
from scalerl.scaling.noise import noise
from scalerl.scaling.priors import LogNormal, Priors
from scalerl.scaling.products import Products, products_by_row, products_on_grid
from scalerl.scaling.proposal import Cells, Cloud, Proposal, evenly
from scalerl.scaling.wander import Basis, Wander, basis

NUM_CANDIDATES, NUM_CLOUDS = 600, 2
NUM_DRAWS = 2000
SIZES_AT_FIRST = (1, 3)  # cells of noise factor and wander
SHAPE_AXES = (2, 3)  # of a parameter set: rate and place
NUM_TOPS_ROUGHLY, NUM_TOPS = 4, 12
SMALLEST_WANDER, LARGEST_WANDER = 5e-4, 0.4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """What the density of a parameter set depends on; compute and place are relative to the last compute.

    A parameter set is (log noise factor, log wander, log rate, log place).
    """

    law: Law
    priors: Priors
    ceiling: float | None
    unit: float
    compute: Vector
    value: Vector
    factor: LogNormal
    basis: Basis

    @classmethod
    def of(cls, curve: Curve, law: Law, ceiling: float | None, priors: Priors) -> Problem:
        """State the problem for a curve."""
        compute, scatter = curve.compute / curve.last_compute, noise(curve)
        return cls(
            law=law,
            priors=priors,
            ceiling=ceiling,
            unit=curve.last_compute,
            compute=compute,
            value=curve.value,
            factor=LogNormal(median=scatter.typical, spread=scatter.spread),
            basis=basis(compute, scatter.variance),
        )

    def everything(self) -> Box:
        """The box to which the priors are cut."""
        reference = float(np.log(self.compute[self.compute > 0][0]))
        return Box.of(
            _span(self.factor, 4.0, 4),
            (np.log(SMALLEST_WANDER), np.log(LARGEST_WANDER), 6),
            _span(self.law.rate_prior, 4.0, 16) if self.law.rate else (0.0, 0.0, 1),
            _span(self.priors.place, 2.8, 20) if self.law.is_place_free else (reference, reference, 1),
        )

    def rough_density(self, box: Box) -> Vector:
        """Log-density at the centre of each cell, to a factor of about two."""
        factor, wander, rate, place = box.centres()
        factors, wanders = (axis.ravel() for axis in np.meshgrid(factor, wander, indexing="ij"))
        rates, places = (axis.ravel() for axis in np.meshgrid(rate, place, indexing="ij"))
        products = products_on_grid(
            self.basis, self.value, self._shapes(rates, places), self._variances(factors, wanders)
        )
        tops = self._tops(products, NUM_TOPS_ROUGHLY)
        likelihood = start_given(products, tops).log_evidence_roughly() + self._log_prior_of(tops)
        prior = self._log_prior(factors[:, None], wanders[:, None], rates, places)
        return (tops.log_sum(likelihood) + prior).reshape(box.shape)

    def candidates(self, rows: Vector, rng: np.random.Generator) -> Candidates:
        """Complete each parameter set by a start and a ceiling, and tell its exact log-density."""
        outside = np.where(self.everything().holds(rows), 0.0, -np.inf)
        factor, wander, rate, place = rows.T
        shapes = self._shapes(rate, place)
        products = products_by_row(self.basis, self.value, shapes, self._variances(factor, wander))
        tops = self._tops(products, NUM_TOPS)
        likelihood = start_given(products, tops).log_evidence() + self._log_prior_of(tops)
        drawn = tops.draw(likelihood, rng)
        top, start = drawn.centre[:, 0], start_given(products, drawn).draw(rng)[:, 0]
        return Candidates(
            rows=rows,
            start=start,
            ceiling=top if tops.is_imposed else start + (1 - start) * top,
            log_density=tops.log_sum(likelihood) + self._log_prior(factor, wander, rate, place) + outside,
        )

    def draws(self, chosen: Candidates, rng: np.random.Generator) -> Draws:
        """Put equally likely candidates into the law's own terms."""
        factor, wander, rate, place = chosen.rows.T
        gain = (chosen.ceiling - chosen.start)[:, None]
        fitted = chosen.start[:, None] + gain * self._shapes(rate, place)
        strays = Wander(
            compute=self.compute,
            unit=self.unit,
            basis=self.basis,
            residual=self.basis.project(self.value - fitted),
            size=np.exp(wander),
            factor=np.exp(factor),
            luck=ndtri((rng.permutation(len(fitted)) + 0.5) / len(fitted)),
        )
        rates, places = np.exp(rate), np.exp(place) * self.unit
        middles = (float(np.median(part)) for part in (chosen.ceiling, rates, places, chosen.start))
        middle = dict(zip(("ceiling", "rate", "place", "start"), middles, strict=True))
        return Draws(
            law=self.law,
            best=Parameters(**middle),
            ceiling=chosen.ceiling,
            rate=rates,
            place=places,
            start=chosen.start,
            strays=strays,
        )

    def _shapes(self, log_rate: Vector, log_place: Vector) -> Vector:
        return self.law.share(self.compute, np.exp(log_rate)[:, None], np.exp(log_place)[:, None])

    def _variances(self, log_factor: Vector, log_wander: Vector) -> Vector:
        return np.exp(log_factor)[:, None] + np.exp(2 * log_wander)[:, None] * self.basis.strength

    def _tops(self, products: Products, num_cells: int) -> Tops:
        return headrooms(products, num_cells) if self.ceiling is None else imposed(products, self.ceiling)

    def _log_prior(self, factor: Vector, wander: Vector, rate: Vector, place: Vector) -> Vector:
        sizes = self.factor.log_density(factor) + self.priors.log_wander(wander)
        return sizes + self.law.rate_prior.log_density(rate) + self.priors.place.log_density(place)

    def _log_prior_of(self, tops: Tops) -> Vector:
        return np.zeros_like(tops.centre) if tops.is_imposed else self.priors.log_headroom(tops.centre)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Parameter sets with a start and a ceiling each, and the exact log-density of the set."""

    rows: Vector
    start: Vector
    ceiling: Vector
    log_density: Vector

    def take(self, chosen: NDArray[np.int64]) -> Candidates:
        """Keep the chosen ones."""
        parts = (self.rows, self.start, self.ceiling, self.log_density)
        rows, start, ceiling, log_density = (part[chosen] for part in parts)
        return Candidates(rows=rows, start=start, ceiling=ceiling, log_density=log_density)

    def __add__(self, other: Candidates) -> Candidates:
        join = np.concatenate
        return Candidates(
            rows=join([self.rows, other.rows]),
            start=join([self.start, other.start]),
            ceiling=join([self.ceiling, other.ceiling]),
            log_density=join([self.log_density, other.log_density]),
        )


def posterior(curve: Curve, law: Law, *, ceiling: float | None = None, priors: Priors | None = None) -> Draws:
    """Draw from the distribution of the parameters given the points; the same curve gives the same draws."""
    return sample(Problem.of(curve, law, ceiling, priors or Priors()), generator(curve))


def sample(problem: Problem, rng: np.random.Generator) -> Draws:
    """Make equally likely draws for a problem."""
    everything = problem.everything()
    # Few sizes of noise and wander tell where the law's shape lies; then all of them are looked at.
    shape, _ = close_in(everything.with_cells(SIZES_AT_FIRST), problem.rough_density)
    cells = Cells.of(*close_in(everything.narrowed(shape, SHAPE_AXES), problem.rough_density))
    proposals: list[Proposal] = [cells]
    candidates = problem.candidates(cells.draw(NUM_CANDIDATES, rng), rng)
    for _ in range(NUM_CLOUDS):
        cloud = Cloud.around(candidates.rows, _weights(candidates, proposals), cells.box.width / 4, rng)
        candidates += problem.candidates(cloud.draw(NUM_CANDIDATES, rng), rng)
        proposals.append(cloud)
    chosen = evenly(_weights(candidates, proposals), NUM_DRAWS, rng)
    return problem.draws(candidates.take(chosen), rng)


def _weights(candidates: Candidates, proposals: Sequence[Proposal]) -> Vector:
    """Exact density of each candidate over the mixture of all that proposed."""
    proposed = np.logaddexp.reduce([proposal.log_density_at(candidates.rows) for proposal in proposals])
    log_weight = candidates.log_density - proposed
    return np.exp(log_weight - log_weight.max())


def _span(prior: LogNormal, deviations: float, num_cells: int) -> tuple[float, float, int]:
    """An axis over the logarithm of a number, as far as its prior reaches."""
    middle = float(np.log(prior.median))
    return middle - deviations * prior.spread, middle + deviations * prior.spread, num_cells
