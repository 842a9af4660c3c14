"""What a run tells of itself: logs, recorded rollouts, live forecasts, alarms, and whoever watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from scalerl.pipeline.checkpointing import Remembering
from scalerl.pipeline.evaluation import Tally, eval_points, tally_lines
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.pipeline.live_forecast_record import FORECASTS, FrozenForecast
from scalerl.pipeline.metrics import known, step_metrics
from scalerl.pipeline.metrics_cost import Reading
from scalerl.pipeline.metrics_evaluation import evaluation_metrics
from scalerl.pipeline.metrics_recent import ClippedShare
from scalerl.pipeline.parts import Parts
from scalerl.records import EvalPoint, Group
from scalerl.run.directory import Run
from scalerl.run.groups import group_lines
from scalerl.run.names import step_name
from scalerl.trainer.update_report import UpdateReport

EVALS, METRICS = "evals.jsonl", "metrics.jsonl"


class Watcher(Protocol):
    """Whoever looks on while a run goes: a display in a terminal, another place for metrics."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """An optimizer step was made."""
        ...

    def evaluated(self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast]) -> None:
        """Held-out prompts were answered; what is forecast from it, where the curve allows."""
        ...

    def alarm(self, text: str) -> None:
        """Something a person should know now."""
        ...


class Chronicle:
    """Writes everything down as it happens; after a resume it reads back what it wrote."""

    def __init__(self, parts: Parts, run: Run, watchers: Sequence[Watcher]) -> None:
        self._parts, self._run, self._watchers = parts, run, watchers
        self._clipped = ClippedShare()
        self._points = [EvalPoint(**record) for record in run.records(EVALS)]
        self.reading = Reading.of(parts.ledger)
        """What had been spent when the last step ended."""

    @property
    def remembering(self) -> dict[str, Remembering]:
        """What of this belongs into a checkpoint; the rest is read from the logs."""
        return {"clipped": self._clipped}

    def has_evaluated(self, step: int) -> bool:
        """Whether the curve has its point at a step."""
        return any(point.step == step for point in self._points)

    def stepped(
        self, step: int, groups: Sequence[Group], report: UpdateReport, before: Reading, after: Reading
    ) -> None:
        """Tell of one optimizer step."""
        metrics = step_metrics(
            groups, report, before=before, after=after, curriculum=self._parts.curriculum, tasks=self._parts.tasks
        )
        metrics |= self._clipped.add(report.was_clipped)
        self.reading = after
        self._log(step, metrics)
        self._record(step, groups)
        for watcher in self._watchers:
            watcher.step(step, metrics)

    def evaluated(self, step: int, tallies: Sequence[Tally]) -> None:
        """Tell of one evaluation, and freeze what it lets one forecast."""
        parts, recipe = self._parts, self._parts.recipe
        points = eval_points(
            tallies,
            step=step,
            ledger=parts.ledger,
            temperature=recipe.evaluation.temperature,
            device=parts.policy.device.type,
        )
        self._points += points
        self._run.write_file(f"evals/{step_name(step)}.jsonl", tally_lines(tallies))
        for point in points:
            self._run.append(EVALS, asdict(point))
        forecasts = [self._forecast(point.task) for point in points]
        for point, forecast in zip(points, forecasts, strict=True):
            own = [one for one in tallies if one.prompt.task == point.task]
            metrics = evaluation_metrics(
                point,
                prompts=[one.prompt for one in own],
                num_passed={one.prompt.id: one.num_passed for one in own},
                forecast=forecast,
            )
            self._log(step, metrics)
        for watcher in self._watchers:
            watcher.evaluated(points, [one for one in forecasts if one is not None])

    def _forecast(self, task: str) -> FrozenForecast | None:
        recipe = self._parts.recipe
        unit = "flops" if self._parts.policy.device.type == "cpu" else "gpu_hours"
        live = LiveForecast(unit=unit, steps=recipe.steps, every=recipe.evaluation.every)
        found = live.after([point for point in self._points if point.task == task])
        if found is not None:
            self._run.append(FORECASTS, found.as_mapping())
        return found

    def _log(self, step: int, metrics: Mapping[str, float]) -> None:
        record: dict[str, Any] = {"step": step, **known(metrics)}
        self._run.append(METRICS, record)

    def _record(self, step: int, groups: Sequence[Group]) -> None:
        log = self._parts.recipe.log
        if log.rollouts_every and step % log.rollouts_every == 0:
            self._run.write_file(f"rollouts/{step_name(step)}.jsonl", group_lines(groups))
            self._run.keep_newest("rollouts", log.rollouts_keep)
