"""What came of forecasts that were frozen earlier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scalerl.pipeline.live_forecast_record import PROBABILITIES, Expected, FrozenForecast
from scalerl.records import EvalPoint

Horizon = Literal["soon", "end"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """One forecast and the evaluation it was about.

    `error` is what came less what was expected; `rank` the probability that was given to less than what came, as
    far as the kept quantiles tell (0 and 1 stand for below and above all of them); `crps` is in pass rate, smaller
    is better.
    """

    task: str
    made_at_step: int
    horizon: Horizon
    step: int
    expected: float
    came: float
    error: float
    is_inside: bool
    """Whether the band for one evaluation held it."""
    is_level_inside: bool
    """Whether the band for the mean level held it, noise of the evaluation and all."""
    rank: float
    crps: float


def score(records: Sequence[FrozenForecast], points: Sequence[EvalPoint]) -> tuple[Outcome, ...]:
    """Hold each forecast against the evaluation of its task at its step; those still to come are left out."""
    came = {(point.task, point.step): point for point in points}
    found: list[Outcome] = []
    for record in records:
        horizons: dict[Horizon, Expected] = {"soon": record.soon, "end": record.end}
        for horizon, expected in horizons.items():
            point = came.get((record.task, expected.step))
            if point is not None:
                found.append(_outcome(record, horizon, expected, point.pass_rate))
    return tuple(found)


def _outcome(record: FrozenForecast, horizon: Horizon, expected: Expected, came: float) -> Outcome:
    return Outcome(
        task=record.task,
        made_at_step=record.made_at_step,
        horizon=horizon,
        step=expected.step,
        expected=expected.value,
        came=came,
        error=came - expected.value,
        is_inside=expected.evaluation_low <= came <= expected.evaluation_high,
        is_level_inside=expected.low <= came <= expected.high,
        rank=_rank(expected, came),
        crps=_crps(expected, came),
    )


def _rank(expected: Expected, came: float) -> float:
    return float(np.interp(came, expected.quantiles, PROBABILITIES, left=0.0, right=1.0))


def _crps(expected: Expected, came: float) -> float:
    """Twice the mean pinball loss over the kept quantiles (Gneiting & Raftery 2007)."""
    off = came - np.array(expected.quantiles)
    probability = np.array(PROBABILITIES)
    return float(2 * np.maximum(probability * off, (probability - 1) * off).mean())
