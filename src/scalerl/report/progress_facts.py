"""What is to be shown of a run while it goes on, as text."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.records import EvalPoint
from scalerl.scaling.number_text import interval_text, level_text, value_text


class Facts:
    """What a display knows: the newest metrics, the curves of all tasks, their forecasts, the time that is left."""

    def __init__(
        self, *, steps: int, points: Sequence[EvalPoint] = (), now: Callable[[], float] = time.monotonic
    ) -> None:
        self.steps = steps
        self.step = max((point.step for point in points), default=0)
        self.metrics: Mapping[str, float] = {}
        self.points: dict[str, list[EvalPoint]] = {}
        self.forecasts: dict[str, FrozenForecast] = {}
        self.now = now
        self._began: tuple[int, float] | None = None
        self._add(points)

    def stepped(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take in one step."""
        self.step, self.metrics = step, metrics
        if self._began is None:
            self._began = step, self.now()

    def evaluated(self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast]) -> None:
        """Take in one evaluation of each task."""
        self._add(points)
        self.forecasts |= {one.task: one for one in forecasts}

    def _add(self, points: Sequence[EvalPoint]) -> None:
        for point in points:
            self.points.setdefault(point.task, []).append(point)

    @property
    def seconds_left(self) -> float | None:
        """Time to the last step at the pace since the first step that was seen, evaluations included."""
        if self._began is None or self.step == self._began[0]:
            return None
        first, began = self._began
        return (self.now() - began) / (self.step - first) * (self.steps - self.step)


def pass_rate_text(points: Sequence[EvalPoint]) -> str:
    """Where a task stands and where it began."""
    now = value_text(points[-1].pass_rate)
    return now if len(points) == 1 else f"{now} (start {value_text(points[0].pass_rate)})"


def forecast_text(forecast: FrozenForecast) -> str:
    """What is expected at the last step."""
    end = forecast.end
    band = f"{level_text(forecast.level)}: {interval_text(end.low, end.high)}"
    return f"{value_text(end.value)} at step {end.step:,} ({band})"


def ceiling_text(forecast: FrozenForecast) -> str:
    """The ceiling where it is pinned down."""
    if not forecast.is_ceiling_identified:
        return "ceiling not identified"
    return f"ceiling {value_text(forecast.ceiling)} ({interval_text(forecast.ceiling_low, forecast.ceiling_high)})"


def metric_texts(metrics: Mapping[str, float]) -> dict[str, str]:
    """The metrics that are worth a glance, as far as they are known."""
    found: dict[str, str] = {}
    if "lag/mean" in metrics:
        found["lag"] = f"{metrics['lag/mean']:.1f} (max {metrics['lag/max']:.0f})"
    for name, key in (("truncated", "truncation/share"), ("interrupted", "interruption/share")):
        if key in metrics:
            found[name] = f"{metrics[key]:.1%}"
    if "entropy/mean" in metrics:
        found["entropy"] = f"{metrics['entropy/mean']:.3f}"
    if "speed/tokens_per_second" in metrics:
        found["tokens/s"] = f"{metrics['speed/tokens_per_second']:,.0f}"
    if "memory/peak_bytes" in metrics:
        found["memory"] = f"{metrics['memory/peak_bytes'] / 2**30:.2f} GiB"
    return found


def duration_text(seconds: float) -> str:
    """A time to wait.

    >>> duration_text(42.4), duration_text(192), duration_text(7500), duration_text(200_000)
    ('42 s', '3 min 12 s', '2 h 5 min', '2 d 7 h')
    """
    whole = round(seconds)
    for size, unit, part, smaller in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"
