"""A law with its numbers, how sure they are, and what to make of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from scalerl.errors import InputError, TooFewPointsError
from scalerl.scaling.curve import FEWEST_POINTS, Curve, Vector
from scalerl.scaling.diagnosis import diagnosis, fall_of
from scalerl.scaling.draws import Draws
from scalerl.scaling.estimate import LEVEL, Estimate, estimate, tails
from scalerl.scaling.identification import Identification, identification
from scalerl.scaling.law import Law
from scalerl.scaling.law import law as law_named
from scalerl.scaling.least_squares import least_squares
from scalerl.scaling.paper import PaperGrid, coarseness, paper
from scalerl.scaling.posterior import posterior

Method: TypeAlias = Literal["posterior", "paper", "least-squares"]
METHODS: tuple[Method, ...] = get_args(Method)
MOST_POINTS = 128  # that a posterior is asked about; neighbours of a longer log are averaged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A law with its numbers: `parameters` by name with intervals, and callable.

    `curve` is the whole curve, `fitted` the part that was fitted; `draws` is what every forecast and decision
    is asked of.
    """

    curve: Curve
    fitted: Curve
    law: Law
    method: Method
    level: float
    draws: Draws
    parameters: dict[str, Estimate]
    identification: Identification
    warnings: tuple[str, ...]

    def __call__(self, compute: ArrayLike) -> Vector:
        """Value of the fitted law at a compute: the median over the draws, or that of the one best set."""
        if self.method == "posterior":
            return np.median(self.draws.law_values(compute), axis=0)
        best = self.draws.best
        return self.law(
            np.atleast_1d(np.asarray(compute, dtype=float)),
            ceiling=best.ceiling,
            rate=best.rate,
            place=best.place,
            start=best.start,
        )

    def recalibrated(self, width_factor: float) -> Fit:
        """The same fit with wider or narrower bands, as `recalibration` on earlier runs says."""
        return replace(self, draws=replace(self.draws, width_factor=width_factor))

    @property
    def is_falling(self) -> bool:
        """Whether the run clearly ends below a level that it held before, which no law can follow."""
        return fall_of(self.fitted) is not None

    @property
    def is_identified(self) -> bool:
        """Whether the points pin the ceiling down."""
        return self.identification.is_ceiling_identified


def fit(
    curve: Curve,
    *,
    law: str = "sigmoid",
    method: Method = "posterior",
    since: float | None = None,
    until: float | None = None,
    ceiling: float | None = None,
    level: float = LEVEL,
) -> Fit:
    """Fit a law to a curve, or to its part from `since` to `until`; `ceiling` imposes the ceiling.

    >>> import numpy as np
    >>> compute = np.linspace(0, 12_000, 41)
    >>> value = 0.3 + 0.31 / (1 + (2542 / np.maximum(compute, 1e-9)) ** 1.92)
    >>> result = fit(Curve.of(compute, value, unit="gpu_hours", num_samples=16_000))
    >>> round(result.parameters["ceiling"].value, 2), result.is_identified
    (0.61, True)
    """
    tails(level)
    chosen = law_named(law)
    fitted = window(curve, since, until, chosen)
    draws = fit_draws(fitted, chosen, method, ceiling)
    best = draws.best_named()
    parameters = {name: estimate(part, level, value=best[name]) for name, part in draws.named().items()}
    refit = None if ceiling is not None else partial(fit_draws, law=chosen, method=method)
    doubt = coarseness(fitted, draws) if method == "paper" else None
    known = identification(fitted, draws, refit, has_priors=method == "posterior", doubt=doubt)
    return Fit(
        curve=curve,
        fitted=fitted,
        law=chosen,
        method=method,
        level=level,
        draws=draws,
        parameters=parameters,
        identification=known,
        warnings=(
            *curve.warnings,
            *_how(fitted, method, ceiling),
            *diagnosis(curve, fitted, draws),
            *known.in_words,
        ),
    )


def _how(fitted: Curve, method: Method, ceiling: float | None) -> tuple[str, ...]:
    """What a method took for granted."""
    if method != "paper":
        return ()
    source = "at zero compute" if fitted.compute[0] == 0 else "of the first point"
    grid = PaperGrid.stated(fitted)
    tried = grid.in_words(fitted.unit) if ceiling is None else grid.with_ceiling(ceiling).in_words(fitted.unit)
    return (f"the start is the value {source}", f"the paper's grid: {tried}")


def window(curve: Curve, since: float | None, until: float | None, law: Law) -> Curve:
    """The points to fit, or a refusal that says how many there are."""
    chosen = curve.is_between(since, until)
    if law.name == "power":
        chosen &= curve.compute > 0
    num_points = int(chosen.sum())
    if num_points < FEWEST_POINTS:
        have = "" if num_points == len(curve) else f" (the run has {len(curve)})"
        points = "point" if num_points == 1 else "points"
        message = f"{num_points} {points} to fit; expected at least {FEWEST_POINTS}{have}"
        raise TooFewPointsError(message, file=curve.name)
    return curve.take(chosen)


def fit_draws(fitted: Curve, law: Law, method: Method, ceiling: float | None = None) -> Draws:
    """Fit by the method of that name."""
    if ceiling is not None and not 0 < ceiling <= 1:
        raise InputError(f"ceiling is {ceiling:g}; expected a number above 0, at most 1", file=fitted.name)
    if method == "posterior":
        return posterior(fitted.pooled(MOST_POINTS), law, ceiling=ceiling)
    if method == "paper":
        return paper(fitted, law, ceiling=ceiling)
    if method == "least-squares":
        return least_squares(fitted, law, ceiling=ceiling)
    raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
