"""Whether the points pin a parameter down, and what would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from scalerl.scaling.curve import FEWEST_POINTS, UNIT_NAMES, Curve, Vector
from scalerl.scaling.draws import Draws
from scalerl.scaling.estimate import LEVEL, Estimate, estimate, tails
from scalerl.scaling.noise import noise
from scalerl.scaling.number_text import compute_text
from scalerl.scaling.priors import Priors
from scalerl.scaling.wander import correlation

CEILING_HALF_WIDTH = 0.02  # the paper's margin for a ceiling
LARGEST_SHIFT_UNDER_FLAT_PRIORS = 0.01
LARGEST_SHIFT_WITHOUT_LAST_QUARTER = 0.02
LARGEST_RATIO = 1.5  # of the two ends of an efficiency's or a midpoint's interval
LARGEST_CURABLE_WANDER = 0.015  # of a run whose ceiling more compute can pin down: 0.02 with some room for noise
MOST_POINTS = 60  # that stand for the run so far, and as many for the rest, when looking ahead
FEWEST_EFFECTIVE_DRAWS = 30
MULTIPLES = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identification:
    """What is pinned down; `needed_compute` is about where the ceiling would be, None where nothing helps."""

    is_ceiling_identified: bool
    is_rate_identified: bool
    is_place_identified: bool
    needed_compute: float | None
    in_words: tuple[str, ...]


def identification(
    fitted: Curve,
    draws: Draws,
    refit: Callable[[Curve], Draws] | None,
    *,
    has_priors: bool,
    doubt: str | None = None,
) -> Identification:
    """Judge how well the points pin the parameters down.

    The ceiling is identified if its 90% interval is at most 0.04 wide, and it moves by less than 0.01 under flat
    priors (for a method that has any) and by less than 0.02 when the last quarter of the compute is hidden; `refit`
    fits such a part, and is None for a ceiling that was imposed. `doubt` is a reason of the method's own.
    """
    ceiling = estimate(draws.ceiling, LEVEL)
    needed, words = None, ("the ceiling was imposed, not fitted",)
    if refit is not None:
        reason = doubt or _what_is_wrong(fitted, draws, ceiling, refit, has_priors=has_priors)
        is_curable = reason is not None and doubt is None and draws.best.ceiling not in draws.ceiling_bounds
        needed = _needed_compute(fitted, draws, ceiling) if is_curable else None
        cure = _cure(fitted, draws, needed) if is_curable else ""
        words = () if reason is None else (f"the ceiling is not identified: {reason}{cure}",)
    return Identification(
        is_ceiling_identified=not words,
        is_rate_identified=_is_narrow(draws.rate),
        is_place_identified=_is_narrow(draws.place),
        needed_compute=needed,
        in_words=words,
    )


def _what_is_wrong(
    fitted: Curve, draws: Draws, ceiling: Estimate, refit: Callable[[Curve], Draws], *, has_priors: bool
) -> str | None:
    if draws.best.ceiling in draws.ceiling_bounds:
        return f"it lies at {draws.best.ceiling:g}, the edge of what the method tries"
    if ceiling.half_width > CEILING_HALF_WIDTH:
        return f"its {LEVEL:.0%} interval runs from {ceiling.low:.3f} to {ceiling.high:.3f}"
    if has_priors:
        flat = _ceiling_under_flat_priors(draws, fitted.last_compute)
        if flat is None:
            return "flat priors might move it further than the draws reach"
        if abs(flat - ceiling.value) >= LARGEST_SHIFT_UNDER_FLAT_PRIORS:
            return f"flat priors would move it by {flat - ceiling.value:+.3f}"
    earlier = fitted.is_between(until=0.75 * fitted.last_compute)
    if earlier.sum() < FEWEST_POINTS:
        return "there are too few points to see whether it holds still"
    shift = ceiling.value - float(np.median(refit(fitted.take(earlier)).ceiling))
    if abs(shift) >= LARGEST_SHIFT_WITHOUT_LAST_QUARTER:
        return f"the last quarter of the compute moved it by {shift:+.3f}"
    return None


def _cure(fitted: Curve, draws: Draws, needed: float | None) -> str:
    """What would pin the ceiling down, as the end of a sentence."""
    if needed is not None:
        where = f"{compute_text(needed)} {UNIT_NAMES[fitted.unit]}"
        return f"; evaluations like these up to about {where} should pin it down"
    if _wander(draws, 0.25) > LARGEST_CURABLE_WANDER:
        return (
            f"; the run strays by about {_wander(draws):.2g} from any law: more seeds would tell, not more compute"
        )
    return f"; more samples an evaluation would tell, not more compute up to {MULTIPLES[-1]:g} times the last"


def _wander(draws: Draws, quantile: float = 0.5) -> float:
    """Distance of the run from its law, as a quantile of what it may be."""
    return 0.0 if draws.strays is None else float(np.quantile(draws.strays.size, quantile))


def _is_narrow(draws: Vector) -> bool:
    low, high = np.quantile(draws, tails(LEVEL))
    return bool(low > 0 and high <= LARGEST_RATIO * low)


def _ceiling_under_flat_priors(draws: Draws, last_compute: float) -> float | None:
    """Median ceiling with the priors taken out again, None where the draws do not reach far enough to tell."""
    priors = Priors()
    room = np.clip((draws.ceiling - draws.start) / np.maximum(1 - draws.start, 1e-9), 0.0, 1.0)
    log_prior = priors.log_headroom(room)
    if draws.law.rate is not None:
        log_prior = log_prior + draws.law.rate_prior.log_density(np.log(draws.rate))
    if draws.law.is_place_free:
        log_prior = log_prior + priors.place.log_density(np.log(draws.place / last_compute))
    weight = np.exp(log_prior.min() - log_prior)
    if weight.sum() ** 2 < FEWEST_EFFECTIVE_DRAWS * (weight**2).sum():
        return None
    order = np.argsort(draws.ceiling)
    cumulative = np.cumsum(weight[order])
    return float(draws.ceiling[order][np.searchsorted(cumulative, cumulative[-1] / 2)])


def _needed_compute(fitted: Curve, draws: Draws, ceiling: Estimate) -> float | None:
    """Smallest compute at which more points of the same spacing and noise would pin the ceiling down.

    The error that the points so far should leave, by the same reckoning, is held against the one they do leave.
    """
    if _wander(draws, 0.25) > LARGEST_CURABLE_WANDER:
        return None
    few, last = fitted.pooled(MOST_POINTS), fitted.last_compute
    spacing = max(last - float(np.median(few.compute)), 1e-9 * last) / max(len(few) // 2, 1)
    scatter = noise(few)
    variance = scatter.typical * scatter.variance
    optimism = max(1.0, ceiling.half_width / _half_width(draws, few.compute, variance))
    for multiple in MULTIPLES:
        num_more = max((multiple - 1) * last / spacing, 1.0)
        shown = int(min(num_more, MOST_POINTS))
        more = np.linspace(last, multiple * last, shown + 1)[1:]
        compute = np.concatenate([few.compute, more])
        points = np.concatenate([variance, np.full(shown, np.median(variance) * shown / num_more)])
        if optimism * _half_width(draws, compute, points) <= CEILING_HALF_WIDTH:
            return multiple * last
    return None


def _half_width(draws: Draws, compute: Vector, variance: Vector) -> float:
    """Half of the ceiling's interval at the best parameters, by the information in points with that variance."""
    best, law = draws.best, draws.law
    share = law.share(compute, best.rate, best.place)
    step, gain = 1e-4, max(best.ceiling - best.start, 0.02)
    columns = [1 - share, share]
    if law.rate is not None:
        columns.append(gain * (law.share(compute, best.rate * (1 + step), best.place) - share) / step)
    if law.is_place_free:
        columns.append(gain * (law.share(compute, best.rate, best.place * (1 + step)) - share) / step)
    slopes = np.stack(columns, axis=1)
    covariance = np.diag(variance) + _wander(draws) ** 2 * correlation(compute / compute[-1], compute / compute[-1])
    # What is believed beforehand keeps the matrix regular where a parameter does not matter.
    spreads = [1.0, 1.0]
    spreads += [law.rate_prior.spread] if law.rate is not None else []
    spreads += [Priors().place.spread] if law.is_place_free else []
    believed = np.diag(np.array(spreads) ** -2)
    covered = np.linalg.inv(slopes.T @ np.linalg.solve(covariance, slopes) + believed)
    return float(ndtri(tails(LEVEL)[1]) * np.sqrt(covered[1, 1]))
