"""What a run tells of itself: logs, recorded rollouts, live forecasts, alarms, and whoever watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import torch

from scalerl.pipeline.alarms import Alarms
from scalerl.pipeline.alarms_words import Alarm
from scalerl.pipeline.checkpointing import Remembering
from scalerl.pipeline.evaluation import Tally, eval_points, tally_lines
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.pipeline.metrics import known, step_metrics
from scalerl.pipeline.metrics_cost import Reading
from scalerl.pipeline.metrics_evaluation import evaluation_metrics
from scalerl.pipeline.metrics_recent import ClippedShare
from scalerl.pipeline.outlook import EVALS, Outlook, View
from scalerl.pipeline.parts import Parts
from scalerl.records import EvalPoint, Group
from scalerl.run.directory import Run
from scalerl.run.groups import group_lines
from scalerl.run.names import step_file
from scalerl.trainer.update_report import UpdateReport

METRICS, ALARMS = "metrics.jsonl", "alarms.jsonl"
DRIFT_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.05}
"""Largest RMS log-ratio between engine and trainer under the same weights, in nats."""


class Watcher(Protocol):
    """Whoever looks on while a run goes: a display in a terminal, another place for metrics."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """An optimizer step was made."""
        ...

    def evaluated(
        self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast], metrics: Mapping[str, float]
    ) -> None:
        """Held-out prompts were answered; what is forecast from it, where the curve allows; all as metrics."""
        ...

    def alarm(self, text: str) -> None:
        """Something a person should know now."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


class Chronicle:
    """Writes everything down as it happens; after a resume it reads back what it wrote."""

    def __init__(self, parts: Parts, run: Run, watchers: Sequence[Watcher]) -> None:
        recipe, self._parts, self._run, self._watchers = parts.recipe, parts, run, watchers
        unit = "flops" if parts.device == "cpu" else "gpu_hours"
        self._outlook = Outlook(run, LiveForecast(unit=unit, steps=recipe.steps, every=recipe.evaluation.every))
        self._alarms = Alarms(drift_tolerance=DRIFT_TOLERANCE[parts.policy.dtype], num_tasks=len(parts.tasks))
        self._clipped = ClippedShare()
        self.reading = Reading.of(parts.ledger)
        """What had been spent when the last step ended."""

    @property
    def remembering(self) -> dict[str, Remembering]:
        """What of this belongs into a checkpoint; the rest is read from the logs."""
        return {"clipped": self._clipped, "alarms": self._alarms}

    @property
    def has_begun(self) -> bool:
        """Whether the curve has its first point."""
        return bool(self._outlook.points())

    def forget(self) -> None:
        """The logs have been cut back: what was read from them is read again."""
        self._outlook.forget()

    def has_evaluated(self, step: int) -> bool:
        """Whether the curve has its point at a step."""
        return any(point.step == step for point in self._outlook.points())

    def stepped(
        self, step: int, groups: Sequence[Group], report: UpdateReport, before: Reading, after: Reading
    ) -> tuple[Alarm, ...]:
        """Tell of one optimizer step; returns the alarms that it raised."""
        metrics = step_metrics(
            groups,
            report,
            before=before,
            after=after,
            curriculum=self._parts.curriculum,
            tasks=self._parts.tasks,
            kl_to_start=self._kl(step, groups),
        )
        if report.has_stepped:
            metrics |= self._clipped.add(report.was_clipped)
        self.reading = after
        metrics |= self._parts.measures()
        self._log(step, metrics)
        self._record(step, groups)
        for watcher in self._watchers:
            watcher.step(step, metrics)
        return self._raised(self._alarms.after_step(step, metrics))

    def evaluated(self, step: int, tallies: Sequence[Tally]) -> None:
        """Tell of one evaluation, and freeze what it lets one forecast."""
        points = eval_points(
            tallies,
            step=step,
            ledger=self._parts.ledger,
            temperature=self._parts.recipe.evaluation.temperature,
            device=self._parts.device,
        )
        self._run.write_file(step_file("evals", step), tally_lines(tallies))
        for point in points:
            self._run.append(EVALS, asdict(point))
        views = [self._outlook.after(point.task) for point in points]
        metrics: dict[str, float] = {}
        for view in views:
            raised = self._alarms.after_evaluation(view.points, view.surprise, view.forecasts)
            metrics |= self._evaluation_metrics(view, tallies)
            self._raised(raised)
        self._log(step, metrics)
        for watcher in self._watchers:
            watcher.evaluated(points, [one.forecast for one in views if one.forecast is not None], metrics)

    def _evaluation_metrics(self, view: View, tallies: Sequence[Tally]) -> dict[str, float]:
        point = view.points[-1]
        own = [one for one in tallies if one.prompt.task == point.task]
        return evaluation_metrics(
            point,
            prompts=[one.prompt for one in own],
            num_passed={one.prompt.id: one.num_passed for one in own},
            forecast=view.forecast,
            evidence=self._alarms.evidence(point.task),
            num_errors=sum(one.num_errors for one in own),
            verdict_kinds=sum((one.verdict_kinds for one in own), Counter[str]()),
        )

    def close(self) -> None:
        """Let whoever watches go."""
        for watcher in self._watchers:
            watcher.close()

    def _raised(self, alarms: Sequence[Alarm]) -> tuple[Alarm, ...]:
        for alarm in alarms:
            self._run.append(ALARMS, asdict(alarm))
            for watcher in self._watchers:
                watcher.alarm(alarm.text)
        return tuple(alarms)

    def _kl(self, step: int, groups: Sequence[Group]) -> float | None:
        recipe = self._parts.recipe
        is_due = step % recipe.evaluation.every == 0 or step == recipe.steps
        start = self._parts.start
        return start.kl(groups, recipe.sampling.temperature) if start and is_due else None

    def _log(self, step: int, metrics: Mapping[str, float]) -> None:
        record: dict[str, Any] = {"step": step, **known(metrics)}
        self._run.append(METRICS, record)

    def _record(self, step: int, groups: Sequence[Group]) -> None:
        log = self._parts.recipe.log
        if log.rollouts_every and step % log.rollouts_every == 0:
            self._run.write_file(step_file("rollouts", step), group_lines(groups))
            self._run.keep_newest("rollouts", log.rollouts_keep)
