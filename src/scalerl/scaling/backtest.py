"""How far off the same method would have been earlier: hide the tail of a run, predict it, score it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from scalerl.errors import InputError
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.fit import Method
from scalerl.scaling.noise import noise
from scalerl.scaling.predictors import RIVALS, Predictor, by_fit
from scalerl.scaling.scores import crps, interval_score

CUTS = (0.25, 0.5, 0.75)
LEVELS = (0.5, 0.8, 0.9, 0.95)
FEWEST_POINTS = 6  # before a cut, below which nothing is predicted
HIDDEN_SHARE = 5  # what is to be predicted is the mean of the last fifth of the hidden points
FEWEST_ERRORS = 5  # on other runs, below which a bare number is given no spread
OURS = "scalerl"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """One prediction of one run's end from the points before a cut, and what came.

    `draws` are of the mean level over the points to be predicted, a single one for a bare number; `actual` is the
    mean of the points, `noise` the deviation of its sampling noise. `group` names the runs that belong together (a
    repository, a study): errors of one group say nothing about its own members.
    """

    run: str
    group: str
    method: str
    cut: float
    compute: float
    draws: Vector
    actual: float
    noise: float

    @property
    def predicted(self) -> float:
        """The middle of the prediction."""
        return float(np.median(self.draws))

    @property
    def error(self) -> float:
        """How far off the middle is."""
        return abs(self.predicted - self.actual)

    @property
    def crps(self) -> float:
        """Continuous ranked probability score."""
        return crps(self.draws, self.actual)

    @property
    def has_band(self) -> bool:
        """Whether there is more than a bare number."""
        return len(self.draws) > 1

    @property
    def rank(self) -> float:
        """Probability of less than what came, noise included: uniform over many runs if the bands are right."""
        return float(ndtr((self.actual - self.draws) / self.noise).mean())

    def band(self, level: float) -> tuple[float, float]:
        """Central interval that should hold the level with this probability."""
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def is_covered(self, level: float) -> bool:
        """Whether what came lies in the band."""
        low, high = self.band(level)
        return low <= self.actual <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one method did at one cut, over all runs.

    `coverage` by level and `coverage_error`, the standard error of the 90% coverage with the groups as clusters,
    are None for bare numbers.
    """

    method: str
    cut: float
    num_runs: int
    error: float
    crps: float
    interval_score: float | None
    coverage: dict[float, float] | None
    coverage_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Backtest:
    """All predictions of all methods; `skipped` names the runs and cuts with too few points.

    `ours` is the name of the method that is put to the test.
    """

    outcomes: tuple[Outcome, ...]
    skipped: tuple[tuple[str, float], ...]
    ours: str = OURS

    def scores(self) -> tuple[Score, ...]:
        """One row a method and cut."""
        methods = dict.fromkeys(outcome.method for outcome in self.outcomes)
        cuts = sorted({outcome.cut for outcome in self.outcomes})
        return tuple(_score(self.of(method, cut), method, cut) for cut in cuts for method in methods)

    def about(self, run: str) -> Backtest:
        """The part that is about one run."""
        return replace(
            self,
            outcomes=tuple(outcome for outcome in self.outcomes if outcome.run == run),
            skipped=tuple(part for part in self.skipped if part[0] == run),
        )

    def of(self, method: str, cut: float | None = None) -> tuple[Outcome, ...]:
        """The predictions of one method, at one cut or at all."""
        chosen = (outcome for outcome in self.outcomes if outcome.method == method)
        return tuple(outcome for outcome in chosen if cut is None or outcome.cut == cut)


def backtest(
    curves: Sequence[Curve],
    *,
    cuts: Sequence[float] = CUTS,
    law: str = "sigmoid",
    method: Method = "posterior",
    rivals: Mapping[str, Predictor] = RIVALS,
    groups: Sequence[str] | None = None,
    since: float | None = None,
    until: float | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Backtest:
    """Predict the end of each run from its points up to each share of its compute, and score what came.

    What is predicted is the mean of the last fifth of the hidden points. A rival that gives a bare number gets the
    spread of its own errors on the runs of other groups, where there are some.
    """
    for cut in cuts:
        if not 0 < cut < 1:
            raise InputError(f"a cut is {cut:g}; expected a share of the run between 0 and 1")
    cuts = list(dict.fromkeys(cuts))
    names = [curve.name for curve in curves] if groups is None else list(groups)
    ours = OURS if method == "posterior" else f"{OURS}, {method}"
    outcomes: list[Outcome] = []
    skipped: list[tuple[str, float]] = []
    for curve, group in zip(curves, names, strict=True):
        chosen = curve.between(since, until)
        for cut in cuts:
            if on_step is not None:
                on_step(f"{curve.name}, first {cut:.0%}")
            seen, hidden = _split(chosen, cut)
            if seen is None or hidden is None:
                skipped.append((curve.name, cut))
                continue
            methods = {ours: by_fit(law, method), **rivals}
            outcomes += [_predict(one, seen, hidden, name, group, cut) for name, one in methods.items()]
    return Backtest(outcomes=_with_spread(outcomes), skipped=tuple(skipped), ours=ours)


def recalibration(result: Backtest) -> float:
    """Factor by which bands should be widened (above 1) or narrowed, judged by the back-test of earlier runs.

    If a band is right, the normal scores of the ranks have mean square 1; the square root of that mean, with ten
    imagined predictions that were right mixed in, is the factor.
    """
    ranks = np.array([outcome.rank for outcome in result.of(result.ours) if outcome.has_band])
    scores = ndtri(np.clip(ranks, 0.001, 0.999))
    imagined = 10
    return float(np.sqrt((imagined + (scores**2).sum()) / (imagined + len(scores))))


def _split(curve: Curve, cut: float) -> tuple[Curve | None, Curve | None]:
    """The points up to a share of the compute, and the last fifth of those after it."""
    is_seen = curve.compute <= cut * curve.last_compute
    num_hidden = int((~is_seen).sum())
    if is_seen.sum() < FEWEST_POINTS or not num_hidden:
        return None, None
    is_asked = np.arange(len(curve)) >= len(curve) - max(1, round(num_hidden / HIDDEN_SHARE))
    return curve.take(is_seen), curve.take(is_asked)


def _predict(predictor: Predictor, seen: Curve, hidden: Curve, name: str, group: str, cut: float) -> Outcome:
    scatter = noise(hidden)
    return Outcome(
        run=seen.name,
        group=group,
        method=name,
        cut=cut,
        compute=float(hidden.compute.mean()),
        draws=predictor(seen, hidden.compute).mean(axis=1),
        actual=float(hidden.value.mean()),
        noise=float(np.sqrt(scatter.typical * scatter.variance.sum()) / len(hidden)),
    )


def _with_spread(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Give each bare number the errors, either way round, that its method made on other groups at the same cut."""
    return tuple(outcome if outcome.has_band else _spread_out(outcome, outcomes) for outcome in outcomes)


def _spread_out(outcome: Outcome, outcomes: Sequence[Outcome]) -> Outcome:
    errors = np.array(
        [
            other.error
            for other in outcomes
            if (other.method, other.cut) == (outcome.method, outcome.cut) and other.group != outcome.group
        ]
    )
    if len(errors) < FEWEST_ERRORS:
        return outcome
    around = outcome.draws[0] + np.concatenate([-errors, errors])
    return replace(outcome, draws=np.clip(around, 0.0, 1.0))


def _score(outcomes: Sequence[Outcome], method: str, cut: float) -> Score:
    has_bands = all(outcome.has_band for outcome in outcomes)
    bands = [(outcome.band(0.9), outcome.actual) for outcome in outcomes]
    return Score(
        method=method,
        cut=cut,
        num_runs=len(outcomes),
        error=float(np.mean([outcome.error for outcome in outcomes])),
        crps=float(np.mean([outcome.crps for outcome in outcomes])),
        interval_score=float(np.mean([interval_score(*band, actual, 0.9) for band, actual in bands]))
        if has_bands
        else None,
        coverage={level: float(np.mean([one.is_covered(level) for one in outcomes])) for level in LEVELS}
        if has_bands
        else None,
        coverage_error=_clustered_error(outcomes) if has_bands else None,
    )


def _clustered_error(outcomes: Sequence[Outcome]) -> float | None:
    """Standard error of the 90% coverage if runs of one group err together."""
    groups = sorted({outcome.group for outcome in outcomes})
    if len(groups) < 2:
        return None
    covered = np.array([outcome.is_covered(0.9) for outcome in outcomes], dtype=float)
    member = np.array([groups.index(outcome.group) for outcome in outcomes])
    sums = np.bincount(member, weights=covered - covered.mean())
    return float(np.sqrt(len(groups) / (len(groups) - 1) * (sums**2).sum()) / len(covered))
