"""Efficiencies under one ceiling, which is the only way to compare them (arXiv 2510.13786, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from scalerl.scaling.curve import Vector
from scalerl.scaling.estimate import Estimate, estimate
from scalerl.scaling.fit import Fit, fit_draws
from scalerl.scaling.seeds import Recipe

LUCKS = ndtri((np.arange(5) + 0.5) / 5)  # five equally likely places of a run in the spread between runs


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCeiling:
    """Efficiency and midpoint of each recipe refitted with the mean ceiling of all, and how often it is the best.

    A run's own ceiling differs from its recipe's by its luck, so that each run is refitted with the shared ceiling
    moved by what runs of one recipe differ. `is_fair` says whether all ceilings lie within the margin of each
    other; otherwise efficiencies mean little.
    """

    ceiling: float
    is_fair: bool
    efficiency: dict[str, Estimate]
    midpoint: dict[str, Estimate]
    probability_most_efficient: dict[str, float]


def shared_ceiling(recipes: Sequence[Recipe], spread: float, margin: float, level: float) -> SharedCeiling | None:
    """Refit every run with the mean ceiling; None for a law that has no efficiency and midpoint."""
    law = recipes[0].fits[0].law
    if law.rate is None or not law.is_place_free:
        return None
    ceilings = [float(np.mean([one.parameters["ceiling"].value for one in each.fits])) for each in recipes]
    common = float(np.mean(ceilings))
    rates, places = zip(*(_refitted(each, common, spread) for each in recipes), strict=True)
    is_best = np.stack(rates) == np.max(rates, axis=0)
    chances = (is_best / is_best.sum(axis=0)).mean(axis=1)
    names = [each.name for each in recipes]
    return SharedCeiling(
        ceiling=common,
        is_fair=max(ceilings) - min(ceilings) <= margin,
        efficiency={name: estimate(rate, level) for name, rate in zip(names, rates, strict=True)},
        midpoint={name: estimate(place, level) for name, place in zip(names, places, strict=True)},
        probability_most_efficient={name: float(chance) for name, chance in zip(names, chances, strict=True)},
    )


def _refitted(each: Recipe, ceiling: float, spread: float) -> tuple[Vector, Vector]:
    """Draws of the efficiency and the midpoint of a recipe, geometric means over its runs."""
    runs = [_refitted_run(one, ceiling, spread) for one in each.fits]
    parts = [[part[order % len(part)] for part in run] for run, order in zip(runs, each.orders, strict=True)]
    rate, place = np.exp(np.mean(np.log(parts), axis=0))
    return rate, place


def _refitted_run(one: Fit, ceiling: float, spread: float) -> tuple[Vector, Vector]:
    """Draws of one run's efficiency and midpoint, over what its own ceiling may be."""
    tops = np.clip(ceiling + spread * LUCKS, 0.01, 1.0)
    draws = [fit_draws(one.fitted, one.law, one.method, float(top)) for top in tops]
    rate, place = (np.concatenate([getattr(part, name) for part in draws]) for name in ("rate", "place"))
    shuffled = np.random.default_rng(0).permutation(len(rate))
    return np.maximum(rate[shuffled], 1e-12), place[shuffled]
