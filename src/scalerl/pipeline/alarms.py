"""Alarms of a run: each told once when it sets in, with what to do about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from scalerl.pipeline import alarms_words as words
from scalerl.pipeline.alarms_latch import Latch
from scalerl.pipeline.alarms_progress import Progress, progress
from scalerl.pipeline.alarms_words import Alarm
from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.pipeline.sequential import THRESHOLD, Surprise, evidence
from scalerl.records import EvalPoint

TRUNCATION, TRUNCATION_GONE, TRUNCATION_STEPS = 0.10, 0.07, 5
ENTROPY, ENTROPY_GONE, ENTROPY_STEPS = 0.1, 0.15, 10
"""Shares of the entropy that the run began with, and steps below."""
START_STEPS = 5
DRIFT_STEPS = 3
FLAT_STEPS = 20
JUDGE_ERRORS, JUDGE_ROLLOUTS, JUDGE_FEWEST = 0.20, 256, 64
"""Largest share of errors, over at least so many last rollouts, judged from so many on."""
EARLIER = 5
"""An alarm about the forecast cites the forecast that was made so many evaluations before."""


class Alarms:
    """Watches the metrics of steps and the points of evaluations."""

    def __init__(self, *, drift_tolerance: float, num_tasks: int = 1) -> None:
        self._drift_tolerance = drift_tolerance
        self._num_tasks = num_tasks
        self._latches: dict[str, Latch] = {}
        self._entropies: list[float] = []
        self._num_flat = 0
        self._judged: deque[tuple[float, float]] = deque()
        self._all_wrong: float | None = None
        self._surprises: dict[str, list[Surprise]] = {}

    def after_step(self, step: int, metrics: Mapping[str, float]) -> tuple[Alarm, ...]:
        """What the metrics of one step give cause to say."""
        self._all_wrong = metrics.get("group/all_wrong_share", self._all_wrong)
        told = (
            self._truncation(step, metrics.get("truncation/share")),
            self._entropy(step, metrics.get("entropy/mean")),
            self._drift(step, metrics.get("drift/rms")),
            self._flat(step, metrics),
            self._judge(step, metrics),
        )
        return tuple(alarm for alarm in told if alarm is not None)

    def after_evaluation(
        self,
        points: Sequence[EvalPoint],
        surprise: Surprise | None = None,
        forecasts: Sequence[FrozenForecast] = (),
    ) -> tuple[Alarm, ...]:
        """What the evaluations of one task give cause to say; `forecasts` are those made of it so far."""
        task = points[-1].task
        if surprise is not None:
            self._surprises.setdefault(task, []).append(surprise)
        told = (self._no_progress(points), self._off_forecast(points[-1], forecasts))
        return tuple(alarm for alarm in told if alarm is not None)

    def evidence(self, task: str) -> float:
        """Odds against a task following its forecasts, 1 where nothing is known."""
        return evidence(self._surprises.get(task, ()))

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON can hold it."""
        return {
            "latches": {name: latch.state() for name, latch in self._latches.items()},
            "entropies": list(self._entropies),
            "num_flat": self._num_flat,
            "judged": [list(pair) for pair in self._judged],
            "all_wrong": self._all_wrong,
            "surprises": {
                task: [[one.rank, one.earlier_rank] for one in seen] for task, seen in self._surprises.items()
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._latches = {}
        for name, latch in state["latches"].items():
            self._latch(name).restore(latch)
        self._entropies = [float(value) for value in state["entropies"]]
        self._num_flat = int(state["num_flat"])
        self._judged = deque((float(errors), float(total)) for errors, total in state["judged"])
        self._all_wrong = state["all_wrong"]
        self._surprises = {
            task: [Surprise(rank=float(rank), earlier_rank=float(earlier)) for rank, earlier in seen]
            for task, seen in state["surprises"].items()
        }

    def _latch(self, name: str) -> Latch:
        patience = {"truncation": TRUNCATION_STEPS, "entropy": ENTROPY_STEPS, "drift": DRIFT_STEPS}.get(name, 1)
        return self._latches.setdefault(name, Latch(patience))

    def _truncation(self, step: int, share: float | None) -> Alarm | None:
        if share is None:
            return None
        latch = self._latch("truncation")
        if not latch.sets_in(share > TRUNCATION, is_gone=share < TRUNCATION_GONE):
            return None
        return Alarm(name="truncation", step=step, text=words.truncation_text(share, TRUNCATION))

    def _entropy(self, step: int, entropy: float | None) -> Alarm | None:
        if entropy is None:
            return None
        if len(self._entropies) < START_STEPS:
            self._entropies.append(entropy)
            return None
        start = sum(self._entropies) / START_STEPS
        latch = self._latch("entropy")
        if not latch.sets_in(entropy < ENTROPY * start, is_gone=entropy > ENTROPY_GONE * start):
            return None
        return Alarm(name="entropy", step=step, text=words.entropy_text(entropy, start))

    def _drift(self, step: int, rms: float | None) -> Alarm | None:
        if rms is None:
            return None
        limit = self._drift_tolerance
        if not self._latch("drift").sets_in(rms > limit, is_gone=rms < limit / 2):
            return None
        return Alarm(name="drift", step=step, text=words.drift_text(rms, limit))

    def _flat(self, step: int, metrics: Mapping[str, float]) -> Alarm | None:
        self._num_flat = self._num_flat + 1 if metrics.get("batch/is_flat") else 0
        if self._num_flat < FLAT_STEPS:
            return None
        self._num_flat = 0  # whoever resumes after mending something begins to count anew
        right, wrong = (metrics.get(f"group/all_{kind}_share", 0.0) for kind in ("right", "wrong"))
        return Alarm(name="flat", step=step, text=words.flat_text(FLAT_STEPS, right, wrong), stops_run=True)

    def _judge(self, step: int, metrics: Mapping[str, float]) -> Alarm | None:
        total = metrics.get("batch/rollouts", 0.0)
        self._judged.append((metrics.get("judge/error_share", 0.0) * total, total))
        while sum(count for _, count in self._judged) - self._judged[0][1] >= JUDGE_ROLLOUTS:
            self._judged.popleft()
        errors, seen = (sum(column) for column in zip(*self._judged, strict=True))
        if seen < JUDGE_FEWEST or errors / seen <= JUDGE_ERRORS:
            return None
        text = words.judge_text(errors / seen, round(seen), JUDGE_ERRORS)
        self._judged.clear()
        return Alarm(name="judge_errors", step=step, text=text, stops_run=True)

    def _no_progress(self, points: Sequence[EvalPoint]) -> Alarm | None:
        found = progress(points)
        if found is None:
            return None
        latch = self._latch(f"no_progress/{points[-1].task}")
        if not latch.sets_in(found.is_none, is_gone=found.is_some):
            return None
        return Alarm(name="no_progress", step=points[-1].step, text=self._no_progress_text(points[-1], found))

    def _no_progress_text(self, last: EvalPoint, found: Progress) -> str:
        if found.has_risen_before:
            return words.flattened_text(last.task, last.step, found.since, found.level, found.rise, found.error)
        return words.never_rose_text(last.task, last.step, found.rise, found.error, self._all_wrong)

    def _off_forecast(self, last: EvalPoint, forecasts: Sequence[FrozenForecast]) -> Alarm | None:
        odds = self.evidence(last.task)
        # Several tasks are several tests: each must clear as much more for the run to keep its 5%.
        latch = self._latch(f"off_forecast/{last.task}")
        if not latch.sets_in(odds >= THRESHOLD * self._num_tasks, is_gone=False):
            return None
        text = words.off_forecast_text(last.task, last.step, last.pass_rate, odds, _earlier(forecasts, last))
        return Alarm(name="off_forecast", step=last.step, text=text)


def _earlier(forecasts: Sequence[FrozenForecast], last: EvalPoint) -> tuple[int, float, float, float] | None:
    """What was forecast for the end some evaluations ago, else as early as there is anything."""
    made = [one for one in forecasts if one.task == last.task and one.made_at_step < last.step]
    if not made:
        return None
    one = made[-EARLIER] if len(made) >= EARLIER else made[0]
    return one.made_at_step, one.end.value, one.end.low, one.end.high
