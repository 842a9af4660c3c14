"""How far an evaluation may lie from the level it measures, from the samples behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scalerl.scaling.curve import Curve, Vector

FAR = 6.0  # deviations of the noise by which a spike stands out from its neighbours
SMALLEST_SPIKE = 0.02
SMALLEST_VARIANCE = 1e-8  # a spread of 1e-4: no evaluation is more exact than that


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Variance of each point up to one common factor, and what the factor is expected to be.

    `typical` and `spread` are the median of the factor and the standard deviation of its logarithm; `is_spike`
    marks evaluations that stand alone far from their neighbours.
    """

    variance: Vector
    typical: float
    spread: float
    is_spike: NDArray[np.bool_]


def noise(curve: Curve) -> Noise:
    """Sampling noise of a curve's points, with lone spikes made to count for little.

    A failed evaluation is neither noise nor wander, and one of them would spoil a whole fit.
    """
    usual = _usual_noise(curve)
    gap = spikes(curve.value, usual.typical * usual.variance)
    return replace(usual, variance=np.maximum(usual.variance, gap**2), is_spike=gap > 0)


def spikes(value: Vector, variance: Vector) -> Vector:
    """How far each point lies beyond both neighbours on either side, zero unless that is far beyond noise.

    The first and the last two points are never spikes: what came before or comes after is not known.

    >>> spikes(np.array([0.3, 0.31, 0.32, 0.0, 0.33, 0.35, 0.34]), np.full(7, 1e-4)).round(2).tolist()
    [0.0, 0.0, 0.0, 0.31, 0.0, 0.0, 0.0]
    """
    gap = np.zeros(len(value))
    if len(value) < 5:
        return gap
    around = np.stack([value[:-4], value[1:-3], value[3:-1], value[4:]])
    middle = value[2:-2]
    beyond = np.maximum(middle - around.max(axis=0), around.min(axis=0) - middle)
    is_far = beyond > np.maximum(FAR * np.sqrt(variance[2:-2]), SMALLEST_SPIKE)
    gap[2:-2] = np.where(is_far, beyond, 0.0)
    return gap


def _usual_noise(curve: Curve) -> Noise:
    """Noise of a curve's points by what is known about them.

    Per-prompt counts give it exactly. A number of samples gives the binomial p(1-p)/n, which on a fixed set of
    prompts is too large (median ratio 0.64 over 66 public validation curves). Without either it is read off
    the scatter of neighbouring points, and less is promised.
    """
    none = np.zeros(len(curve), dtype=bool)
    if curve.counts is not None:
        variance = np.maximum(curve.counts.noise_variance(), SMALLEST_VARIANCE)
        return Noise(variance=variance, typical=1.0, spread=0.25, is_spike=none)
    known = np.isfinite(curve.num_samples)
    if known.any():
        samples = np.where(known, curve.num_samples, np.nanmedian(curve.num_samples))
        rate = (_smooth(curve.value) * samples + 0.5) / (samples + 1)
        variance = np.maximum(rate * (1 - rate) / samples, SMALLEST_VARIANCE)
        return Noise(variance=variance, typical=0.7, spread=0.25, is_spike=none)
    return Noise(variance=np.full(len(curve), _scatter(curve) ** 2), typical=1.0, spread=0.7, is_spike=none)


def _smooth(value: Vector) -> Vector:
    """Mean over each point and its two neighbours on either side."""
    return np.convolve(np.pad(value, 2, mode="edge"), np.full(5, 0.2), mode="valid")


def _scatter(curve: Curve) -> float:
    """Standard deviation of points about the line through their neighbours, not thrown by a few spikes."""
    if len(curve) < 3:
        return 0.02
    left, middle, right = curve.value[:-2], curve.value[1:-1], curve.value[2:]
    weight = (curve.compute[1:-1] - curve.compute[:-2]) / (curve.compute[2:] - curve.compute[:-2])
    off = (middle - left - weight * (right - left)) / np.sqrt(1 + weight**2 + (1 - weight) ** 2)
    return float(np.clip(np.median(np.abs(off)) / 0.6745, 1e-3, 0.3))
