"""What a fit knows: equally likely parameter sets of one law, and how far the run strays from it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.law import Law
from scalerl.scaling.wander import Wander


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """One set of a law's numbers, by the role they play in every law."""

    ceiling: float
    rate: float
    place: float
    start: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """Equally likely parameter sets of a law, the single best set, and the paths around the law.

    Every question is asked of the same draws, so that a fit, a forecast, the cost of a target and a comparison
    never contradict each other. `ceiling_bounds` are the lowest and highest ceiling that the method tries;
    `width_factor` says how much further from their median levels lie than the draws have them.
    """

    law: Law
    best: Parameters
    ceiling: Vector
    rate: Vector
    place: Vector
    start: Vector
    strays: Wander | None = None
    ceiling_bounds: tuple[float, float] = (0.0, 1.0)
    width_factor: float = 1.0

    def __len__(self) -> int:
        return len(self.ceiling)

    def named(self) -> dict[str, Vector]:
        """The draws of each parameter under the name that the law gives it."""
        rows = {
            "ceiling": self.ceiling,
            self.law.rate: self.rate,
            self.law.place: self.place,
            "start": self.start,
        }
        return {name: rows[name] for name in self.law.parameters}

    def best_named(self) -> dict[str, float]:
        """The best set under the names that the law gives."""
        best = self.best
        rows = {
            "ceiling": best.ceiling,
            self.law.rate: best.rate,
            self.law.place: best.place,
            "start": best.start,
        }
        return {name: rows[name] for name in self.law.parameters}

    def law_values(self, compute: ArrayLike) -> Vector:
        """Value of the law at each compute (columns) under each draw (rows)."""
        x = np.atleast_1d(np.asarray(compute, dtype=float))[None]
        columns = (part[:, None] for part in (self.ceiling, self.rate, self.place, self.start))
        ceiling, rate, place, start = columns
        return self.law(x, ceiling=ceiling, rate=rate, place=place, start=start)

    def levels(self, compute: ArrayLike) -> Vector:
        """Mean level of the run at each compute (columns) under each draw (rows), from 0 to 1."""
        x = np.atleast_1d(np.asarray(compute, dtype=float))
        values = self.law_values(x)
        if self.strays is not None:
            values = values + self.strays(x)
        if self.width_factor != 1:
            middle = np.median(values, axis=0)
            values = middle + self.width_factor * (values - middle)
        return np.clip(values, 0.0, 1.0)

    def gain(self, first: float, second: float) -> Vector:
        """How much higher the level is at the second compute than at the first, under each draw.

        The wander between the two is drawn jointly: the difference of two `levels` would leave most of it out.
        """
        law = np.diff(self.law_values([first, second]), axis=1)[:, 0]
        gain = law if self.strays is None else law + self.strays.difference(first, second)
        middle = float(np.median(gain))
        return np.clip(middle + self.width_factor * (gain - middle), -1.0, 1.0)


def generator(curve: Curve) -> np.random.Generator:
    """Random numbers that are the same for the same points and unrelated between two runs.

    With one seed for all, the draws of two runs would move together and a comparison would look too sure.
    """
    return np.random.default_rng(zlib.crc32(curve.compute.tobytes() + curve.value.tobytes()))
