"""Efficiencies under one ceiling, which is the only way to compare them (arXiv 2510.13786, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalerl.scaling.curve import Vector
from scalerl.scaling.estimate import Estimate, estimate
from scalerl.scaling.fit import fit
from scalerl.scaling.seeds import Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCeiling:
    """Efficiency and midpoint of each recipe refitted with the mean ceiling of all, and how often it is the best.

    `is_fair` says whether all ceilings lie within the margin of each other; otherwise efficiencies mean little.
    """

    ceiling: float
    is_fair: bool
    efficiency: dict[str, Estimate]
    midpoint: dict[str, Estimate]
    probability_most_efficient: dict[str, float]


def shared_ceiling(recipes: Sequence[Recipe], margin: float, level: float) -> SharedCeiling | None:
    """Refit every run with the mean ceiling; None for a law that has no efficiency and midpoint."""
    law = recipes[0].fits[0].law
    if law.rate is None or not law.is_place_free:
        return None
    ceilings = [float(np.mean([one.parameters["ceiling"].value for one in each.fits])) for each in recipes]
    common = float(np.mean(ceilings))
    rates, places = zip(*(_refitted(each, common) for each in recipes), strict=True)
    best = np.argmax(np.stack(rates), axis=0)
    names = [each.name for each in recipes]
    return SharedCeiling(
        ceiling=common,
        is_fair=max(ceilings) - min(ceilings) <= margin,
        efficiency={name: estimate(rate, level) for name, rate in zip(names, rates, strict=True)},
        midpoint={name: estimate(place, level) for name, place in zip(names, places, strict=True)},
        probability_most_efficient={name: float((best == at).mean()) for at, name in enumerate(names)},
    )


def _refitted(each: Recipe, ceiling: float) -> tuple[Vector, Vector]:
    """Draws of the efficiency and the midpoint, geometric means over the runs."""
    draws = [
        fit(one.fitted, law=one.law.name, method=one.method, ceiling=ceiling, level=one.level).draws
        for one in each.fits
    ]
    rate = np.exp(np.mean([np.log(np.maximum(one.rate, 1e-12)) for one in draws], axis=0))
    place = np.exp(np.mean([np.log(one.place) for one in draws], axis=0))
    return rate, place
