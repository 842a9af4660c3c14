"""Where each task of a run will end, frozen into `forecasts.jsonl` after each evaluation and scored later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.pipeline.live_forecast_record import FORECASTS, FrozenForecast
from scalerl.pipeline.live_forecast_score import score
from scalerl.pipeline.sequential import Surprise
from scalerl.readers.prompt_counts import prompt_counts
from scalerl.records import EvalPoint
from scalerl.run.directory import Run
from scalerl.scaling.curve import PromptCounts

EVALS, SCORES = "evals.jsonl", "scores.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What one evaluation lets one say of its task."""

    points: tuple[EvalPoint, ...]
    """All evaluations of the task so far."""
    forecast: FrozenForecast | None
    surprise: Surprise | None
    """Where this evaluation came in what was forecast for it."""
    forecasts: tuple[FrozenForecast, ...]
    """All forecasts of the task so far, this one included."""


class Outlook:
    """Reads the curve back from the run's own files, as anyone else would."""

    def __init__(self, run: Run, live: LiveForecast) -> None:
        self._run, self._live = run, live
        self._rows: dict[tuple[int, str], PromptCounts | None] = {}
        """Pass counts by step and task: the files never change, and there is one more after each evaluation."""

    def forget(self) -> None:
        """Files may have gone and come back with other counts."""
        self._rows = {}

    def after(self, task: str) -> View:
        """Forecast a task from its evaluations so far, keep what was forecast, and score what has come."""
        points = tuple(point for point in self.points() if point.task == task)
        counts = self._counts([point.step for point in points], task)
        for outcome in score(self._made(task), points[-1:]):
            self._run.append(SCORES, asdict(outcome))
        forecast = self._live.after(points, counts)
        if forecast is not None:
            self._run.append(FORECASTS, forecast.as_mapping())
        return View(
            points=points,
            forecast=forecast,
            surprise=self._live.surprise(points, counts),
            forecasts=self._made(task),
        )

    def _counts(self, steps: Sequence[int], task: str) -> PromptCounts | None:
        for step in steps:
            if (step, task) not in self._rows:
                self._rows[step, task] = prompt_counts(self._run.path, [step], task, [])
        rows = [self._rows[step, task] for step in steps]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or len({row.prompts for row in known}) > 1:
            return None
        return PromptCounts(
            prompts=known[0].prompts,
            num_passed=np.concatenate([row.num_passed for row in known]),
            num_samples=np.concatenate([row.num_samples for row in known]),
        )

    def _made(self, task: str) -> tuple[FrozenForecast, ...]:
        made = [FrozenForecast.of_mapping(record) for record in self._run.records(FORECASTS)]
        return tuple(one for one in made if one.task == task)

    def points(self) -> list[EvalPoint]:
        """Every evaluation of the run."""
        return [EvalPoint(**record) for record in self._run.records(EVALS)]
