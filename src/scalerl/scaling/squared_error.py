"""Squared error of a law, what it says about the two levels, and which parameter sets fit about as well."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scalerl.scaling.curve import Vector

NUM_DRAWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Weighted means and spreads of share and value: all that the levels depend on, one entry a bend.

    The spreads are sums of squares about the means, so that nothing is lost where the share hardly varies.
    """

    weight: float
    mean_share: Vector
    mean_value: Vector
    share_spread: Vector
    joint_spread: Vector
    value_spread: float

    @classmethod
    def of(cls, share: Vector, value: Vector, weight: Vector) -> Moments:
        """Sum over the points, the last axis of `share`."""
        total = float(weight.sum())
        mean_share, mean_value = share @ weight / total, float(value @ weight) / total
        about = share - mean_share[:, None]
        return cls(
            weight=total,
            mean_share=mean_share,
            mean_value=np.full_like(mean_share, mean_value),
            share_spread=about**2 @ weight,
            joint_spread=about @ (weight * (value - mean_value)),
            value_spread=float(weight @ (value - mean_value) ** 2),
        )

    def squared_error(self, start: Vector, ceiling: Vector) -> Vector:
        """Weighted sum of squared residuals under these levels."""
        gain = ceiling - start
        bias = start + gain * self.mean_share - self.mean_value
        fitted = gain * (gain * self.share_spread - 2 * self.joint_spread)
        return np.maximum(self.value_spread + fitted + self.weight * bias**2, 0.0)

    def shaken(self, noise: float, rng: np.random.Generator) -> Moments:
        """The moments of the same points with fresh noise of `noise` times their variance.

        Mean and slope of a weighted line err independently, with variance 1/weight and 1/share_spread.
        """
        mean_error, slope_error = rng.standard_normal((2, len(self.mean_share))) * np.sqrt(noise)
        return replace(
            self,
            mean_value=self.mean_value + mean_error / np.sqrt(self.weight),
            joint_spread=self.joint_spread + slope_error * np.sqrt(self.share_spread),
        )


def best_levels(moments: Moments, ceiling: float | None = None) -> tuple[Vector, Vector]:
    """Start and ceiling from 0 to 1 with the least squared error, exactly; the ceiling can be imposed.

    The error is convex in the two levels: its minimum is the free one where that lies inside the square, and
    otherwise the best point of the four edges, each a parabola.
    """
    if ceiling is not None:
        imposed = np.full_like(moments.mean_share, ceiling)
        return _best_start(moments, imposed), imposed
    low, high = np.zeros_like(moments.mean_share), np.ones_like(moments.mean_share)
    edges = [(level, _best_ceiling(moments, level)) for level in (low, high)]
    edges += [(_best_start(moments, level), level) for level in (low, high)]
    errors = np.stack([moments.squared_error(*edge) for edge in edges])
    at = errors.argmin(axis=0), np.arange(len(low))
    starts, ceilings = (np.stack(levels)[at] for levels in zip(*edges, strict=True))

    has_slope = moments.share_spread > 1e-24 * moments.weight  # else the share is one constant, up to rounding
    gain = np.divide(moments.joint_spread, moments.share_spread, out=np.zeros_like(low), where=has_slope)
    start = moments.mean_value - gain * moments.mean_share
    is_inside = has_slope & (np.minimum(start, start + gain) >= 0) & (np.maximum(start, start + gain) <= 1)
    return np.where(is_inside, start, starts), np.where(is_inside, start + gain, ceilings)


def _best_start(moments: Moments, ceiling: Vector) -> Vector:
    """Best start under a ceiling: with u = 1 - share, sum w u (value - ceiling share) / sum w u^2."""
    rest = 1 - moments.mean_share
    curvature = moments.share_spread + moments.weight * rest**2
    slope = moments.weight * rest * (moments.mean_value - ceiling * moments.mean_share)
    slope += ceiling * moments.share_spread - moments.joint_spread
    return _clipped_ratio(slope, curvature, moments.mean_value)


def _best_ceiling(moments: Moments, start: Vector) -> Vector:
    """Best ceiling above a start: sum w share (value - start (1 - share)) / sum w share^2."""
    curvature = moments.share_spread + moments.weight * moments.mean_share**2
    slope = moments.weight * moments.mean_share * (moments.mean_value - start * (1 - moments.mean_share))
    slope += start * moments.share_spread + moments.joint_spread
    return _clipped_ratio(slope, curvature, moments.mean_value)


def _clipped_ratio(slope: Vector, curvature: Vector, otherwise: Vector) -> Vector:
    # A level that no point sees has no curvature: any value fits, the mean is the least surprising.
    ratio = np.divide(slope, curvature, out=np.array(otherwise), where=curvature > 1e-290)
    return np.clip(ratio, 0.0, 1.0)


def likely_rows(squared_error: Vector, noise: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows with probability exp(-(error - least error) / (2 noise)), evenly spaced and shuffled."""
    weight = np.exp((squared_error.min() - squared_error) / (2 * noise))
    reached = np.cumsum(weight) / weight.sum()
    rows = np.searchsorted(reached, (np.arange(NUM_DRAWS) + 0.5) / NUM_DRAWS)
    return rng.permutation(np.minimum(rows, len(weight) - 1))
