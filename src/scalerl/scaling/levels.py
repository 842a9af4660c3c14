"""The two levels of a law, given its shape s and the products of the points with it.

A point is

    y = start * (1 - b s) + a s + wander + noise

where (a, b) = (h, h) for a headroom h (the ceiling is start + (1 - start) h), or (A, 1) for a ceiling A that is
imposed. Given (a, b) it is linear in the start, which therefore drops out in closed form; the headroom is summed
over the few values that the points allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from scalerl.scaling.curve import Vector
from scalerl.scaling.products import Products

SMALLEST_PRECISION = 1e-9  # of a level that no point depends on
DEVIATIONS = 5.0  # on either side of its best value to which the headroom is looked at


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tops:
    """Cells of headroom (last axis), or the ceiling where it is imposed."""

    centre: Vector
    width: Vector
    is_imposed: bool

    @property
    def a(self) -> Vector:
        """What the shape adds."""
        return self.centre

    @property
    def b(self) -> Vector:
        """What the shape takes of the start."""
        return np.ones_like(self.centre) if self.is_imposed else self.centre

    def log_sum(self, log_density: Vector) -> Vector:
        """Log of the integral of a density over the cells."""
        peak = log_density.max(axis=-1)
        width = 1.0 if self.is_imposed else self.width[..., 0]
        return peak + np.log(np.exp(log_density - peak[..., None]).sum(axis=-1) * width)

    def draw(self, log_density: Vector, rng: np.random.Generator) -> Tops:
        """For each row one value, evenly inside of a cell that is drawn by the density."""
        rows = np.arange(len(self.centre))
        cumulative = np.cumsum(np.exp(log_density - log_density.max(axis=-1, keepdims=True)), axis=-1)
        at = rng.random((len(rows), 1)) * cumulative[:, -1:]
        cell = np.minimum((cumulative < at).sum(axis=-1), cumulative.shape[-1] - 1)
        value = self.centre[rows, cell] + self.width[:, 0] * (rng.random(len(rows)) - 0.5)
        return Tops(centre=value[:, None], width=np.zeros_like(self.width), is_imposed=self.is_imposed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """The start given everything else: a normal, cut to 0..1; `log_height` is the log-likelihood at its peak."""

    mean: Vector
    deviation: Vector
    log_height: Vector

    def _bounds(self) -> tuple[Vector, Vector, NDArray[np.bool_]]:
        """Bounds in deviations, mirrored into the lower tail, which floating point can tell from 1."""
        low, high = -self.mean / self.deviation, (1 - self.mean) / self.deviation
        is_mirrored = low > 0
        return np.where(is_mirrored, -high, low), np.where(is_mirrored, -low, high), is_mirrored

    def log_evidence(self) -> Vector:
        """Log-likelihood with the start integrated over 0..1."""
        low, high, _ = self._bounds()
        log_high = log_ndtr(high)
        log_mass = log_high + np.log1p(-np.minimum(np.exp(log_ndtr(low) - log_high), 1 - 1e-16))
        return self.log_height + np.log(self.deviation) + log_mass

    def log_evidence_roughly(self) -> Vector:
        """The same to a factor of about two, and ten times faster: enough to find where the mass is."""
        off = (np.clip(self.mean, 0.0, 1.0) - self.mean) / self.deviation
        return self.log_height + np.log(self.deviation) - 0.5 * off**2

    def draw(self, rng: np.random.Generator) -> Vector:
        """A start from each distribution, by the inverse of its cumulative probability."""
        low, high, is_mirrored = self._bounds()
        at = ndtri(ndtr(low) + rng.random(low.shape) * (ndtr(high) - ndtr(low)))
        # Further out than a float can tell, all of the mass lies at the bound next to the mean.
        at = np.where(ndtr(high) > 0, at, high)
        return np.clip(self.mean + self.deviation * np.where(is_mirrored, -at, at), 0.0, 1.0)


def headrooms(products: Products, num_cells: int) -> Tops:
    """Cells of headroom around the best one for each shape."""
    p = products
    spread = np.maximum(p.ones * p.ss - p.s1**2, SMALLEST_PRECISION * p.ones)
    gain = (p.ones * p.ys - p.s1 * p.y1) / spread
    room = np.clip(1 - (p.y1 - gain * p.s1) / p.ones, 0.05, 1.0)
    reach = DEVIATIONS * np.sqrt(p.ones / spread) / room
    low = np.clip(gain / room - reach, 0.0, 0.995)
    high = np.clip(gain / room + reach, low + 0.005, 1.0)
    width = (high - low) / num_cells
    return Tops(centre=low + width * (np.arange(num_cells) + 0.5), width=width, is_imposed=False)


def imposed(products: Products, ceiling: float) -> Tops:
    """The single cell, of no width, of a ceiling that is given."""
    nothing = np.zeros_like(products.ss)
    return Tops(centre=nothing + ceiling, width=nothing, is_imposed=True)


def start_given(products: Products, tops: Tops) -> Start:
    """Distribution of the start, for each shape and each cell of headroom."""
    p, a, b = products, tops.a, tops.b
    precision = np.maximum(p.ones + b * (b * p.ss - 2 * p.s1), SMALLEST_PRECISION)
    pull = (p.y1 - a * p.s1) + b * (a * p.ss - p.ys)
    misfit = p.yy + a * (a * p.ss - 2 * p.ys)
    mean = pull / precision
    height = -0.5 * (misfit - pull * mean) - 0.5 * p.log_determinant
    return Start(mean=mean, deviation=1 / np.sqrt(precision), log_height=height)
