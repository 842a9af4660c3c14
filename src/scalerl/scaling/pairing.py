"""Two runs compared prompt by prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from scalerl.scaling.curve import Curve
from scalerl.scaling.estimate import Estimate, tails

FEWEST_PROMPTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Mean difference of pass rates over the prompts that both runs were asked, first minus second."""

    first_compute: float
    second_compute: float
    num_prompts: int
    difference: Estimate
    probability_better: float


def paired_difference(first: Curve, second: Curve, at: float, level: float) -> PairedDifference | None:
    """Compare the two evaluations nearest to a compute on their common prompts; None where there are none.

    What makes one prompt harder than another cancels, so that the difference is far better known than the levels.
    """
    if first.counts is None or second.counts is None:
        return None
    places = {prompt: column for column, prompt in enumerate(second.counts.prompts)}
    columns = [(one, places[prompt]) for one, prompt in enumerate(first.counts.prompts) if prompt in places]
    near = min(at, first.last_compute, second.last_compute)
    rows = [int(np.argmin(np.abs(curve.compute - near))) for curve in (first, second)]
    with np.errstate(invalid="ignore", divide="ignore"):
        one = (first.counts.num_passed / first.counts.num_samples)[rows[0]][[pair[0] for pair in columns]]
        other = (second.counts.num_passed / second.counts.num_samples)[rows[1]][[pair[1] for pair in columns]]
    differences = (one - other)[np.isfinite(one - other)]
    if len(differences) < FEWEST_PROMPTS:
        return None
    mean = float(differences.mean())
    error = max(float(differences.std(ddof=1)) / np.sqrt(len(differences)), 1e-9)
    reach = float(ndtri(tails(level)[1])) * error
    return PairedDifference(
        first_compute=float(first.compute[rows[0]]),
        second_compute=float(second.compute[rows[1]]),
        num_prompts=len(differences),
        difference=Estimate(value=mean, low=mean - reach, high=mean + reach),
        probability_better=float(ndtr(mean / error)),
    )
