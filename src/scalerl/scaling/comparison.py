"""Which of several recipes is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.scaling.curve import UNITS, Curve, Unit, Vector
from scalerl.scaling.estimate import LEVEL, Estimate, estimate
from scalerl.scaling.fit import Fit, Method, fit
from scalerl.scaling.pairing import PairedDifference, paired_difference
from scalerl.scaling.seeds import Recipe, recipe, spread_between_runs
from scalerl.scaling.shared_ceiling import SharedCeiling, shared_ceiling

Verdict: TypeAlias = Literal["differ", "equivalent", "unresolved"]
MARGIN = 0.02
"""Ceilings closer than this count as equivalent: the paper's margin."""

BAND = 2.0  # times the named compute, to which the band of the comparison reaches
FURTHEST_CROSSING = 100.0  # times the last compute
NUM_STEPS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where the better recipe changes for the last time.

    `probability` is that of a crossing between `since` and `until`. `compute` is where the curves of these very
    runs cross, with an interval that also holds how far other runs of the recipes may differ; None where fewer than
    half of the draws cross.
    """

    compute: Estimate | None
    probability: float
    since: float
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How the first of two recipes stands against the second, on one unit of compute.

    `difference` (of the levels, first minus second) and `probability_better` are at the compute `at`,
    `probability_better_over_band` is that of the mean level from there to `band_end`. `ratio` is the compute that
    the first takes to reach `target` over what the second takes: below 1 the first is cheaper. It is None where
    fewer than half of the draws have both reach it (`ratio_probability`).
    """

    first: str
    second: str
    unit: Unit
    at: float
    band_end: float
    difference: Estimate
    probability_better: float
    probability_better_over_band: float
    target: float
    ratio: Estimate | None
    ratio_probability: float
    crossing: Crossing
    ceiling_difference: Estimate
    ceilings: Verdict
    paired: PairedDifference | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """Every pair of recipes on every unit that all runs have, the named unit first.

    `spread` is the standard deviation between runs of one recipe that was reckoned with, `num_seeds` how many
    runs it comes from beyond the usual value.
    """

    recipes: tuple[Recipe, ...]
    pairs: tuple[Pair, ...]
    shared: SharedCeiling | None
    units: tuple[Unit, ...]
    spread: float
    margin: float
    level: float
    warnings: tuple[str, ...]


def compare(
    runs: Sequence[Curve | Sequence[Curve]],
    *,
    at: float | None = None,
    names: Sequence[str] | None = None,
    margin: float = MARGIN,
    level: float = LEVEL,
    law: str = "sigmoid",
    method: Method = "posterior",
    since: float | None = None,
    until: float | None = None,
) -> Comparison:
    """Compare recipes; each is one curve or several seeds of it.

    >>> compute = [0, 100, 200, 400, 800, 1600, 3200]
    >>> slow = Curve.of(compute, [0.2, 0.22, 0.26, 0.33, 0.40, 0.44, 0.46], unit="gpu_hours", num_samples=16_000)
    >>> fast = Curve.of(compute, [0.2, 0.30, 0.38, 0.46, 0.52, 0.55, 0.57], unit="gpu_hours", num_samples=16_000)
    >>> pair = compare([fast, slow], at=6400, names=["fast", "slow"]).pairs[0]
    >>> pair.probability_better > 0.95, pair.ceilings
    (True, 'differ')
    """
    groups = [[run] if isinstance(run, Curve) else list(run) for run in runs]
    if len(groups) < 2 or not all(groups):
        raise InputError(f"{len(groups)} recipes to compare; expected at least two, each with a run")
    titles = list(names) if names is not None else [group[0].name for group in groups]
    units = _common_units(groups)
    pairs: list[Pair] = []
    named: tuple[Recipe, ...] = ()
    for unit in units:
        curves = [[run.between(since, until).against(unit) for run in group] for group in groups]
        fits = [[fit(run, law=law, method=method, level=level) for run in group] for group in curves]
        spread = spread_between_runs(fits)
        recipes = tuple(
            recipe(title, group, spread=spread, position=position)
            for position, (title, group) in enumerate(zip(titles, fits, strict=True))
        )
        named = named or recipes
        where = at if unit == units[0] else None
        pairs += [_pair(*two, where, margin, level) for two in combinations(recipes, 2)]
    return Comparison(
        recipes=named,
        pairs=tuple(pairs),
        shared=shared_ceiling(named, margin, level),
        units=units,
        spread=spread_between_runs([list(one.fits) for one in named]),
        margin=margin,
        level=level,
        warnings=_warnings(named),
    )


def _common_units(groups: Sequence[Sequence[Curve]]) -> tuple[Unit, ...]:
    """Units that all runs have, that of the first run in front."""
    runs = [run for group in groups for run in group]
    known = [{run.unit, *run.axes} for run in runs]
    candidates: tuple[Unit, ...] = (runs[0].unit, *UNITS)
    common: list[Unit] = [unit for unit in candidates if all(unit in units for units in known)]
    if not common:
        have = "; ".join(
            f"{run.name} has {', '.join(sorted(units))}" for run, units in zip(runs, known, strict=True)
        )
        raise InputError(f"no unit of compute that all runs have: {have}")
    return tuple(dict[Unit, None].fromkeys(common))


def _pair(first: Recipe, second: Recipe, at: float | None, margin: float, level: float) -> Pair:
    runs = (first.longest, second.longest)
    where = max(run.last_compute for run in runs) if at is None else at
    band = np.geomspace(where, BAND * where, 9)
    difference = first.levels(band) - second.levels(band)
    target = float(min(np.median(one.levels(where)) for one in (first, second)))
    ratio, ratio_probability = _ratio(first, second, target, level)
    ceilings = estimate(first.ceiling - second.ceiling, level)
    return Pair(
        first=first.name,
        second=second.name,
        unit=runs[0].unit,
        at=where,
        band_end=BAND * where,
        difference=estimate(difference[:, 0], level),
        probability_better=_chance(difference[:, 0]),
        probability_better_over_band=_chance(difference.mean(axis=1)),
        target=target,
        ratio=ratio,
        ratio_probability=ratio_probability,
        crossing=_crossing(first, second, level),
        ceiling_difference=ceilings,
        ceilings=_verdict(ceilings, margin),
        paired=paired_difference(*runs, where, level),
    )


def _chance(difference: Vector) -> float:
    """Probability that a difference is positive; a tie counts half."""
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def _ratio(first: Recipe, second: Recipe, target: float, level: float) -> tuple[Estimate | None, float]:
    one, other = first.first_reached(target), second.first_reached(target)
    both = np.isfinite(one) & np.isfinite(other)
    chance = float(both.mean())
    return (estimate(one[both] / other[both], level) if chance >= 0.5 else None), chance


def _crossing(first: Recipe, second: Recipe, level: float) -> Crossing:
    runs = (first.longest, second.longest)
    since = max(float(run.compute[run.compute > 0][0]) for run in runs)
    until = FURTHEST_CROSSING * max(run.last_compute for run in runs)
    compute = np.geomspace(since, until, NUM_STEPS)
    here = _last_changes(compute, first.levels_of_runs(compute) > second.levels_of_runs(compute))
    anywhere = _last_changes(compute, first.levels(compute) > second.levels(compute))
    chance = len(anywhere) / len(first.offset)
    is_found = chance >= 0.5 and len(here) > 0
    found = estimate(anywhere, level, value=float(np.median(here))) if is_found else None
    return Crossing(compute=found, probability=chance, since=since, until=until)


def _last_changes(compute: Vector, is_ahead: NDArray[np.bool_]) -> Vector:
    """Compute of the last change in each row that has one."""
    changes = is_ahead[:, 1:] != is_ahead[:, :-1]
    last = changes.shape[1] - 1 - np.argmax(changes[:, ::-1], axis=1)
    return np.sqrt(compute[last] * compute[last + 1])[changes.any(axis=1)]


def _verdict(difference: Estimate, margin: float) -> Verdict:
    """Equivalent if the whole interval lies within the margin, else different if it leaves out zero."""
    if -margin <= difference.low and difference.high <= margin:
        return "equivalent"
    return "differ" if difference.low > 0 or difference.high < 0 else "unresolved"


def _warnings(recipes: Sequence[Recipe]) -> tuple[str, ...]:
    fits: list[tuple[str, Fit]] = [(one.name, fitted) for one in recipes for fitted in one.fits]
    words = [f"{name}: {warning}" for name, fitted in fits for warning in fitted.warnings]
    if all(len(one.fits) == 1 for one in recipes):
        words.append("one run each: how far runs of one recipe differ is not measured here but taken as usual")
    return tuple(dict.fromkeys(words))
