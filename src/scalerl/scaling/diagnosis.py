"""What is odd about a curve or its fit, in words, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scalerl.scaling.curve import UNIT_NAMES, Curve
from scalerl.scaling.draws import Draws
from scalerl.scaling.noise import noise
from scalerl.scaling.number_text import compute_text

FEW_POINTS = 6
LARGEST_TRUNCATION = 0.1  # the paper saw runs destabilise at 10 to 15%
CLEAR = 3.0  # standard errors that make a difference clear
SMALL = 0.02  # a fall or a misfit below this is not worth a word


def diagnosis(curve: Curve, fitted: Curve, draws: Draws) -> tuple[str, ...]:
    """Warnings about the points, then about the fit."""
    return (*_of_points(curve, fitted), *_of_fit(fitted, draws))


def _of_points(curve: Curve, fitted: Curve) -> Iterator[str]:
    if len(fitted) < FEW_POINTS:
        yield f"only {len(fitted)} points: the priors decide most of this"
    if curve.compute[0] > 0:
        yield "no evaluation at zero compute: the start is inferred, not measured"
    elif fitted.compute[0] > 0:
        yield "the evaluation at zero compute is left out: this law cannot hold it"
    if not np.isfinite(fitted.num_samples).any() and fitted.counts is None:
        yield "the number of samples behind the points is not known: their noise is read off their scatter"
    if curve.truncation is not None and np.nanmax(curve.truncation[-3:]) > LARGEST_TRUNCATION:
        yield (
            f"{np.nanmax(curve.truncation[-3:]):.0%} of the answers are truncated: runs above"
            f" {LARGEST_TRUNCATION:.0%} tend to collapse; give more tokens or interrupt earlier"
        )
    spikes = fitted.compute[noise(fitted).is_spike]
    if len(spikes):
        where = ", ".join(compute_text(float(compute)) for compute in spikes[:3]) + (
            " ..." if len(spikes) > 3 else ""
        )
        yield f"evaluations far off their neighbours count for little: at {where} {UNIT_NAMES[fitted.unit]}"
    fall = fall_of(fitted)
    if fall is not None:
        yield (
            f"the curve falls: it ends {fall:.3f} below its peak; no law here can fall, so the forecast"
            " only says that the run may stay or recover"
        )


def _of_fit(fitted: Curve, draws: Draws) -> Iterator[str]:
    best, last = draws.best, fitted.last_compute
    if draws.law.rate is not None and best.rate <= 0:
        yield "the best efficiency is not positive: the curve lies outside of what this method tries"
    if draws.law.is_place_free and best.place > last / 2:
        yield (
            f"no bend yet: the last compute is {last / best.place:.2g} times the {draws.law.place}"
            f" ({compute_text(best.place)} {UNIT_NAMES[fitted.unit]}); from twice on a ceiling begins to show"
        )
    if np.quantile(draws.ceiling, 0.75) > 0.98:
        yield "much of the ceiling's distribution lies at 1: the points do not bound it"
    misfit = _early_misfit(fitted, draws)
    if misfit is not None:
        early, off = misfit
        yield (
            f"the first points lie {off:+.3f} off the law: leave the start of the run out,"
            f" with --from {early:.6g} or so"
        )


def fall_of(fitted: Curve) -> float | None:
    """How far the last points lie below the highest level held before, where that is clear."""
    width = max(1, len(fitted) // 8)
    means = np.convolve(fitted.value, np.full(width, 1 / width), mode="valid")
    peak = int(np.argmax(means))
    variance = noise(fitted).variance
    # The highest of many means is high by luck: about two deviations of a mean for any usual number of them.
    luck = 2 * np.sqrt(variance[peak] / width)
    error = np.sqrt((variance[-1] + variance[peak]) / width)
    fall = float(means[peak] - means[-1])
    return fall if fall - luck > max(CLEAR * error, SMALL) else None


def _early_misfit(fitted: Curve, draws: Draws) -> tuple[float, float] | None:
    """Where the start of a run ends and how far it lies off the law, where that is clear."""
    early = (fitted.compute > 0) & (fitted.compute <= 0.15 * fitted.last_compute)
    if early.sum() < 3 or len(fitted) < 12:
        return None
    off = fitted.value[early] - np.median(draws.law_values(fitted.compute[early]), axis=0)
    error = np.sqrt(noise(fitted).variance[early].mean() / early.sum())
    mean = float(off.mean())
    return (0.15 * fitted.last_compute, mean) if abs(mean) > max(CLEAR * error, SMALL) else None
