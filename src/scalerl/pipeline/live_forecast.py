"""Where a run will end, said while it runs; each forecast is frozen when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scalerl.errors import InputError
from scalerl.pipeline.live_forecast_rank import Predictive, predictive, predictive_after
from scalerl.pipeline.live_forecast_record import PROBABILITIES, Expected, FrozenForecast
from scalerl.pipeline.sequential import Surprise
from scalerl.records import EvalPoint
from scalerl.scaling.curve import Curve, PromptCounts, Unit
from scalerl.scaling.fit import Fit, fit
from scalerl.scaling.forecast import ForecastPoint, forecast

FEWEST_POINTS = 4
"""Evaluations before the first forecast: one more than a fit needs, or nothing but the priors would speak."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveForecast:
    """Forecasts one task of a run that evaluates every so many steps, up to its last step."""

    unit: Unit
    steps: int
    """Steps of the whole run."""
    every: int
    """Steps between evaluations."""

    def after(self, points: Sequence[EvalPoint], counts: PromptCounts | None = None) -> FrozenForecast | None:
        """Forecast the end and the next evaluation; None where the curve is too short or nothing is left of it.

        `counts` are the passes of each held-out prompt at these points, which tell the noise exactly.
        """
        last = points[-1]
        if last.step >= self.steps or len(points) < FEWEST_POINTS:
            return None
        try:
            fitted = fit(curve_of(points, self.unit, counts))
        except InputError:
            return None  # compute that does not rise yet: a clock too coarse, say
        next_step = min(last.step + self.every, self.steps)
        ahead = [compute_at(points, self.unit, step) for step in (next_step, self.steps)]
        found = forecast(fitted, at=ahead)
        chances = predictive(fitted.draws, fitted.fitted)
        soon, end = (
            _expected(step, point, chances)
            for step, point in zip((next_step, self.steps), found.points, strict=True)
        )
        return _frozen(last, fitted, soon, end, warnings=found.warnings)

    def surprise(self, points: Sequence[EvalPoint], counts: PromptCounts | None = None) -> Surprise | None:
        """Where the newest evaluation came in what was to be expected from those before it; None for the first few.

        What was to be expected is asked at the compute that was really spent, not at the one that was foreseen.
        """
        num_before = len(points) - 1
        if num_before < FEWEST_POINTS:
            return None
        try:
            curve = curve_of(points, self.unit, counts)
        except InputError:
            return None
        ranks = [
            predictive_after(curve, num).rank(curve.last_compute, points[-1].pass_rate)
            for num in (num_before, num_before - 1)
        ]
        return Surprise(rank=ranks[0], earlier_rank=ranks[1])


def curve_of(points: Sequence[EvalPoint], unit: Unit, counts: PromptCounts | None = None) -> Curve:
    """The evaluations of one task as a curve."""
    return Curve(
        name=points[0].task,
        unit=unit,
        compute=np.array([compute_of(point, unit) for point in points]),
        value=np.array([point.pass_rate for point in points]),
        num_samples=np.array([float(point.num_prompts * point.num_samples) for point in points]),
        step=np.array([float(point.step) for point in points]),
        task=points[0].task,
        counts=counts,
        truncation=np.array([point.truncation for point in points]),
    )


def compute_of(point: EvalPoint, unit: Unit) -> float:
    """What had been spent at an evaluation."""
    return float(
        {"gpu_hours": point.gpu_hours, "flops": point.flops, "tokens": point.tokens, "steps": point.step}[unit]
    )


def compute_at(points: Sequence[EvalPoint], unit: Unit, step: int) -> float:
    """What will have been spent at a later step if steps cost what they did over the last third of the run.

    Answers grow or shrink over a run, so that the mean since the start would be off.
    """
    last = points[-1]
    earlier = next((point for point in reversed(points[:-1]) if point.step <= last.step * 2 / 3), points[0])
    spent = compute_of(last, unit) - compute_of(earlier, unit)
    return compute_of(last, unit) + spent / (last.step - earlier.step) * (step - last.step)


def _expected(step: int, point: ForecastPoint, chances: Predictive) -> Expected:
    """What is expected at a step; the ends of an evaluation's quantiles are its band, which holds the level's."""
    found = chances.quantiles(point.compute, PROBABILITIES)
    quantiles = (min(found[0], point.low), *found[1:-1], max(found[-1], point.high))
    return Expected(
        step=step,
        compute=point.compute,
        value=point.value,
        low=point.low,
        high=point.high,
        evaluation_low=quantiles[0],
        evaluation_high=quantiles[-1],
        quantiles=quantiles,
    )


def _frozen(
    last: EvalPoint, fitted: Fit, soon: Expected, end: Expected, *, warnings: tuple[str, ...]
) -> FrozenForecast:
    ceiling = fitted.parameters["ceiling"]
    return FrozenForecast(
        task=last.task,
        made_at_step=last.step,
        made_at_compute=fitted.curve.last_compute,
        made_at_pass_rate=last.pass_rate,
        unit=fitted.curve.unit,
        num_points=len(fitted.curve),
        method=f"{fitted.law.name}, {fitted.method}",
        level=fitted.level,
        soon=soon,
        end=end,
        ceiling=ceiling.value,
        ceiling_low=ceiling.low,
        ceiling_high=ceiling.high,
        is_ceiling_identified=fitted.is_identified,
        warnings=warnings,
    )
