"""How far an evaluation may lie from the level it measures, from the samples behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalerl.scaling.curve import Curve, Vector

SMALLEST_VARIANCE = 1e-8  # a spread of 1e-4: no evaluation is more exact than that


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Variance of each point up to one common factor, and what the factor is expected to be.

    `typical` and `spread` are the median of the factor and the standard deviation of its logarithm.
    """

    variance: Vector
    typical: float
    spread: float


def noise(curve: Curve) -> Noise:
    """Sampling noise of a curve's points.

    Per-prompt counts give it exactly. A number of samples gives the binomial p(1-p)/n, which on a fixed set of
    prompts is too large (median ratio 0.64 over 66 public validation curves). Without either it is read off
    the scatter of neighbouring points, and less is promised.
    """
    if curve.counts is not None:
        variance = curve.counts.noise_variance()
        return Noise(variance=np.maximum(variance, SMALLEST_VARIANCE), typical=1.0, spread=0.25)
    known = np.isfinite(curve.num_samples)
    if known.any():
        samples = np.where(known, curve.num_samples, np.nanmedian(curve.num_samples))
        rate = (_smooth(curve.value) * samples + 0.5) / (samples + 1)
        return Noise(variance=np.maximum(rate * (1 - rate) / samples, SMALLEST_VARIANCE), typical=0.7, spread=0.25)
    return Noise(variance=np.full(len(curve), _scatter(curve) ** 2), typical=1.0, spread=0.7)


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
