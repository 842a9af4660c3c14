"""Which of several recipes is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from scalerl.errors import InputError
from scalerl.scaling.curve import UNIT_NAMES, UNITS, Curve, Unit, Vector
from scalerl.scaling.estimate import LEVEL, Estimate, estimate
from scalerl.scaling.fit import Fit, Method, fit
from scalerl.scaling.forecast import too_far
from scalerl.scaling.number_text import compute_text
from scalerl.scaling.pairing import PairedDifference, paired_difference
from scalerl.scaling.reach import reached, until_the_horizon
from scalerl.scaling.seeds import Recipe, recipe, spread_between_runs
from scalerl.scaling.shared_ceiling import SharedCeiling, shared_ceiling

Verdict: TypeAlias = Literal["differ", "equivalent", "unresolved"]
MARGIN = 0.02
"""Ceilings closer than this count as equivalent: the paper's margin."""

HAIR = 0.005  # a lead that is too small to speak of a crossing
BAND = 2.0  # times the named compute, to which the band of the comparison reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where the better recipe changes for the last time.

    `probability` is that of a crossing between `since` and `until`. `compute` is where the curves of these very
    runs cross, with an interval that also holds how far other runs of the recipes may differ; None where fewer than
    half of the draws cross, or where the curves of these very runs do not.
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

    `spread` is the standard deviation between runs of one recipe that was reckoned with.
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

    `at`, `since` and `until` are on the first unit that all runs have, by preference that of the first run; on the
    other units recipes are compared at the furthest compute that a run reached.

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
    for label, number in (("compute to compare at", at), ("margin", margin)):
        if number is not None and not (np.isfinite(number) and number > 0):
            raise InputError(f"the {label} is {number:g}; expected a positive number")
    titles = _distinct([group[0].name for group in groups] if names is None else names)
    units = _common_units(groups)
    seen = [[run.against(units[0]).between(since, until) for run in group] for group in groups]
    by_unit = [
        _recipes([[run.against(unit) for run in group] for group in seen], titles, law, method, level)
        for unit in units
    ]
    spread = spread_between_runs([list(one.fits) for one in by_unit[0]])
    return Comparison(
        recipes=by_unit[0],
        pairs=tuple(
            pair
            for unit, recipes in zip(units, by_unit, strict=True)
            for pair in _pairs(recipes, at if unit == units[0] else None, margin, level)
        ),
        shared=shared_ceiling(by_unit[0], spread, margin, level),
        units=units,
        spread=spread,
        margin=margin,
        level=level,
        warnings=(*_warnings(by_unit[0]), *_too_far(by_unit, at)),
    )


def _recipes(
    groups: Sequence[Sequence[Curve]], titles: Sequence[str], law: str, method: Method, level: float
) -> tuple[Recipe, ...]:
    fits = [[fit(run, law=law, method=method, level=level) for run in group] for group in groups]
    spread = spread_between_runs(fits)
    return tuple(
        recipe(title, group, spread=spread, position=position)
        for position, (title, group) in enumerate(zip(titles, fits, strict=True))
    )


def _pairs(recipes: Sequence[Recipe], at: float | None, margin: float, level: float) -> list[Pair]:
    """Every pair, at the named compute or at the furthest that a run reached."""
    where = _where(recipes, at)
    paths = [Paths.of(one, until_the_horizon(*(one.longest for one in recipes))) for one in recipes]
    return [_pair(*two, where, margin, level) for two in combinations(paths, 2)]


def _where(recipes: Sequence[Recipe], at: float | None) -> float:
    return max(one.longest.last_compute for one in recipes) if at is None else at


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """A recipe followed as far as one may look: its levels (rows are draws), and the middle of its very runs."""

    recipe: Recipe
    compute: Vector
    levels: Vector
    middle: Vector

    @classmethod
    def of(cls, one: Recipe, compute: Vector) -> Paths:
        """Follow a recipe over computes."""
        middle = np.median(one.levels_of_runs(compute), axis=0)
        return cls(recipe=one, compute=compute, levels=one.levels(compute), middle=middle)


def _pair(one: Paths, other: Paths, at: float, margin: float, level: float) -> Pair:
    first, second = one.recipe, other.recipe
    band = np.geomspace(at, BAND * at, 9)
    levels = [each.levels(band) for each in (first, second)]
    difference = levels[0] - levels[1]
    target = float(min(np.median(part[:, 0]) for part in levels))
    ratio, ratio_probability = _ratio(one, other, target, level)
    ceilings = estimate(first.ceiling - second.ceiling, level)
    return Pair(
        first=first.name,
        second=second.name,
        unit=first.longest.unit,
        at=at,
        band_end=BAND * at,
        difference=estimate(difference[:, 0], level),
        probability_better=_chance(difference[:, 0]),
        probability_better_over_band=_chance(difference.mean(axis=1)),
        target=target,
        ratio=ratio,
        ratio_probability=ratio_probability,
        crossing=_crossing(one, other, level),
        ceiling_difference=ceilings,
        ceilings=_verdict(ceilings, margin),
        paired=paired_difference(first.longest, second.longest, at, level),
    )


def _chance(difference: Vector) -> float:
    """Probability that a difference is positive; a tie counts half."""
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def _ratio(one: Paths, other: Paths, target: float, level: float) -> tuple[Estimate | None, float]:
    first, second = (
        reached(each.compute, each.levels, target, now=each.recipe.longest.last_compute) for each in (one, other)
    )
    both = np.isfinite(first) & np.isfinite(second)
    chance = float(both.mean())
    return (estimate(first[both] / second[both], level) if chance >= 0.5 else None), chance


def _crossing(one: Paths, other: Paths, level: float) -> Crossing:
    since = max(float(each.recipe.longest.compute[each.recipe.longest.compute > 0][0]) for each in (one, other))
    seen = one.compute >= since
    compute = one.compute[seen]
    here = _last_crossings(compute, (one.middle - other.middle)[None, seen])
    anywhere = _last_crossings(compute, (one.levels - other.levels)[:, seen])
    chance = len(anywhere) / len(one.levels)
    is_found = chance >= 0.5 and len(here) > 0
    found = estimate(anywhere, level, value=float(here[0])) if is_found else None
    return Crossing(compute=found, probability=chance, since=since, until=float(compute[-1]))


def _last_crossings(compute: Vector, difference: Vector) -> Vector:
    """Compute at which the winner changes for the last time, in each row where it does.

    Where the other was never ahead by more than a hair, as at the start where all curves are alike, it does not.
    """
    was_behind = (-np.sign(difference[:, -1:]) * difference).max(axis=1) > HAIR
    rows = difference[was_behind]
    changes = (rows[:, 1:] > 0) != (rows[:, :-1] > 0)
    last = changes.shape[1] - 1 - np.argmax(changes[:, ::-1], axis=1)
    before, after = (np.take_along_axis(rows, at[:, None], axis=1)[:, 0] for at in (last, last + 1))
    part = before / np.where(before == after, 1.0, before - after)
    return compute[last] * (compute[last + 1] / compute[last]) ** np.clip(part, 0.0, 1.0)


def _distinct(names: Sequence[str]) -> list[str]:
    """Names that tell the recipes apart: a name that comes again is numbered."""
    return [
        f"{name} ({names[:at].count(name) + 1})" if name in names[:at] else name for at, name in enumerate(names)
    ]


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


def _too_far(by_unit: Sequence[Sequence[Recipe]], at: float | None) -> tuple[str, ...]:
    """Warnings about recipes that are compared further out than was ever back-tested, on any unit."""
    words: list[str] = []
    for recipes in by_unit:
        where = _where(recipes, at if recipes is by_unit[0] else None)
        place = f"at {compute_text(where)} {UNIT_NAMES[recipes[0].longest.unit]} the forecast of"
        words += [warning for one in recipes for warning in too_far(f"{place} {one.name}", where, one.longest)]
    return tuple(words)
