"""What is believed of a run before its points are seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalerl.scaling.curve import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal:
    """A positive number: the median, and the standard deviation of its natural logarithm."""

    median: float
    spread: float

    def log_density(self, log_number: ArrayLike) -> Vector:
        """Log-density over the logarithm, up to a constant."""
        return -0.5 * ((np.asarray(log_number) - np.log(self.median)) / self.spread) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Weak beliefs that keep an early fit from running away.

    `place`: the midpoint as a multiple of the last fitted compute. `headroom`: the gain is that part of what
    the start leaves to 1, with density (1 - headroom)^(headroom_power). The start is uniform from 0 to 1. What
    is believed of the rate belongs to each law. `wander`: the scale of a half-Cauchy: small as a rule, large on
    the runs that collapse.
    """

    place: LogNormal = LogNormal(median=float(np.exp(-1)), spread=2.0)
    headroom_power: float = 2.0
    wander: float = 0.06

    def log_headroom(self, headroom: Vector) -> Vector:
        """Log-density of the headroom."""
        return self.headroom_power * np.log1p(-np.minimum(headroom, 1 - 1e-9))

    def log_wander(self, log_size: Vector) -> Vector:
        """Log-density of the logarithm of the wander's size."""
        return log_size - np.log1p((np.exp(log_size) / self.wander) ** 2)
