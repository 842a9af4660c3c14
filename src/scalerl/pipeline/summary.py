"""What a run says first and last, in a few lines."""

from __future__ import annotations

from dataclasses import fields

from scalerl.pipeline.live_forecast_record import FORECASTS, FrozenForecast
from scalerl.pipeline.outlook import EVALS
from scalerl.pipeline.parts import Parts
from scalerl.pipeline.probe import Probe
from scalerl.recipe.recipe import Recipe
from scalerl.records import EvalPoint
from scalerl.run.directory import Run
from scalerl.scaling.number_text import interval_text, value_text


def opening(parts: Parts, probe: Probe) -> str:
    """The numbers that decide a run and are easily got wrong elsewhere, and whether engine and trainer agree."""
    recipe = parts.recipe
    loss = ", ".join(
        f"{one.name} {getattr(recipe.loss, one.name)}" for one in fields(recipe.loss) if one.name != "kind"
    )
    head = "float32" if parts.policy.is_fp32_head else str(parts.policy.dtype).removeprefix("torch.")
    return "\n".join(
        [
            f"{recipe.loss.kind} ({loss or 'no bounds'}), {recipe.off_policy.kind} with k = {recipe.off_policy.k}, "
            f"{recipe.batch.prompts} prompts x {recipe.batch.samples} answers a step, {recipe.engine.slots} slots",
            f"engine and trainer under the same weights: log-ratio {probe.rms:.1e} RMS, {probe.largest:.1e} at most"
            f" over {probe.num_tokens} tokens ({str(parts.policy.dtype).removeprefix('torch.')} body, {head} head)",
        ]
    )


def closing(run: Run, recipe: Recipe) -> str:
    """Where each task stands, and what the forecast at half of the steps had said of it."""
    points = [EvalPoint(**record) for record in run.records(EVALS)]
    made = [FrozenForecast.of_mapping(record) for record in run.records(FORECASTS)]
    lines: list[str] = []
    for task in dict.fromkeys(point.task for point in points):
        own = [point for point in points if point.task == task]
        lines.append(_ended(own))
        half = [one for one in made if one.task == task and one.made_at_step <= recipe.steps / 2]
        if half and own[-1].step == half[-1].end.step:
            lines.append(_hindsight(half[-1], own[-1]))
    return "\n".join(lines)


def _ended(points: list[EvalPoint]) -> str:
    first, last = points[0], points[-1]
    return (
        f"{last.task}: {value_text(last.pass_rate)} after step {last.step}, from {value_text(first.pass_rate)} "
        f"({last.num_prompts} held-out prompts x {last.num_samples})"
    )


def _hindsight(forecast: FrozenForecast, came: EvalPoint) -> str:
    end = forecast.end
    band = interval_text(end.evaluation_low, end.evaluation_high)
    verdict = "inside" if end.evaluation_low <= came.pass_rate <= end.evaluation_high else "outside"
    return (
        f"  forecast at step {forecast.made_at_step}: {value_text(end.value)}, one evaluation {band} "
        f"with probability {forecast.level:.0%}; what came is {verdict}"
    )
