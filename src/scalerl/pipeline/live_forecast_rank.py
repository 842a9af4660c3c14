"""What one more evaluation would show, as a distribution, and where in it an evaluation lies that came."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import Draws
from scalerl.scaling.fit import fit_draws
from scalerl.scaling.law import law
from scalerl.scaling.noise import noise

SMALLEST_DEVIATION = 0.003
"""Noise is taken for at least this: near 0 and 1 a handful of answers would pass for a surprise."""
NUM_STEPS = 60
"""Halvings in which a quantile is found: more than a float can tell apart."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Predictive:
    """The distribution of one more evaluation: a mixture of normals, one for each draw of a fit.

    Wander and noise are summed out in closed form: from draws of them the far tails, on which a test bets, would
    come out by luck.
    """

    draws: Draws
    noise_variance: Vector

    def rank(self, compute: float, value: float) -> float:
        """Probability of less than this value: uniform over evaluations if the forecasts are right."""
        mean, deviation = self._normals(compute)
        return float(ndtr((value - mean) / deviation).mean())

    def quantiles(self, compute: float, probabilities: tuple[float, ...]) -> tuple[float, ...]:
        """Values below which an evaluation falls with these probabilities, cut to 0 and 1."""
        mean, deviation = self._normals(compute)
        low, high = np.zeros(len(probabilities)), np.ones(len(probabilities))
        for _ in range(NUM_STEPS):
            middle = (low + high) / 2
            is_below = ndtr((middle[:, None] - mean) / deviation).mean(axis=1) < np.array(probabilities)
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return tuple(float(value) for value in np.where(low > 0, high, 0.0))

    def _normals(self, compute: float) -> tuple[Vector, Vector]:
        at = np.array([compute])
        strays = self.draws.strays
        assert strays is not None, "only the posterior knows how a run wanders"
        straight, one_off = (replace(strays, luck=np.full(len(self.draws), luck))(at)[:, 0] for luck in (0.0, 1.0))
        mean = self.draws.law_values(at)[:, 0] + straight
        return mean, np.sqrt((one_off - straight) ** 2 + self.noise_variance)


def predictive(draws: Draws, fitted: Curve) -> Predictive:
    """The distribution of one more evaluation of a fitted curve, with as many samples as the last ones."""
    assert draws.strays is not None, "only the posterior knows how a run wanders"
    variance = draws.strays.factor * np.median(noise(fitted).variance[-5:])
    return Predictive(draws=draws, noise_variance=np.maximum(variance, SMALLEST_DEVIATION**2))


def predictive_after(curve: Curve, num_points: int) -> Predictive:
    """What was to be expected after the first points of a curve; the same points give the same distribution."""
    seen = curve.take(np.arange(len(curve)) < num_points)
    return predictive(fit_draws(seen, law("sigmoid"), "posterior"), seen)
