"""A run while it goes on: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.readers.run_directory import EVALS
from scalerl.recipe.recipe import Recipe
from scalerl.records import EvalPoint
from scalerl.report.progress_facts import (
    Facts,
    ceiling_text,
    duration_text,
    forecast_text,
    metric_texts,
    pass_rate_text,
)
from scalerl.report.progress_plot import plot
from scalerl.report.sinks import Sinks, sinks_of
from scalerl.report.terminal import console as standard_console
from scalerl.run.directory import Run

PLAIN_LINES = 20
"""Lines about steps in a whole run, beside those about evaluations."""
NUM_ALARMS = 3
"""Newest alarms that stay in sight."""
PLOT_HEIGHT, WIDEST = 9, 110
SECONDS_A_PICTURE = 0.2


def watchers_of(recipe: Recipe, place: Path, *, is_plain: bool = False) -> tuple[LiveDisplay | PlainLines, Sinks]:
    """Whoever looks on at a run: the display, and the other places for its metrics that the recipe names."""
    sinks = sinks_of(recipe.log, place)  # first, since a missing package is refused
    earlier = [EvalPoint(**record) for record in Run.read(place).records(EVALS)]
    facts, out = Facts(steps=recipe.steps, points=earlier), standard_console()
    is_live = out.is_terminal and not is_plain
    return LiveDisplay(facts, out, name=place.name) if is_live else PlainLines(facts, out), sinks


class PlainLines:
    """One line an evaluation, and one every so many steps, without control characters."""

    def __init__(self, facts: Facts, out: Console) -> None:
        self._facts, self._out = facts, out

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Say a line now and then."""
        self._facts.stepped(step, metrics)
        if step % max(1, self._facts.steps // PLAIN_LINES) == 0:
            parts = [f"{name} {text}" for name, text in metric_texts(metrics).items()]
            left = self._facts.seconds_left
            parts += [] if left is None else [f"{duration_text(left)} left"]
            self._say(f"step {step:,} of {self._facts.steps:,}", *parts)

    def evaluated(
        self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast], metrics: Mapping[str, float]
    ) -> None:
        """Say a line for each task."""
        self._facts.evaluated(points, forecasts)
        for point in points:
            told = [f"{point.task} pass rate {pass_rate_text(self._facts.points[point.task])}"]
            for one in forecasts:
                if one.task == point.task:
                    told += [f"forecast {forecast_text(one)}", ceiling_text(one)]
            self._say(f"step {point.step:,} of {self._facts.steps:,}", *told)

    def alarm(self, text: str) -> None:
        """Say an alarm."""
        self._say(f"ALARM at step {self._facts.step:,}: {text}")

    def close(self) -> None:
        """Nothing is left to do."""

    def _say(self, *parts: str) -> None:
        self._out.print(Text("  ".join(parts)), soft_wrap=True)


class LiveDisplay:
    """A picture of the run that is drawn anew at every step."""

    def __init__(self, facts: Facts, out: Console, *, name: str) -> None:
        self._facts, self._name = facts, name
        self._alarms: list[Text] = []
        self._out = out
        # Drawn by whoever reports and by no thread of its own: nothing changes under a picture while it is drawn.
        self._live = Live(console=out, auto_refresh=False, get_renderable=self.picture)
        self._drawn = facts.now()

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Show one step, if the last picture is not a moment old."""
        self._facts.stepped(step, metrics)
        if self._facts.now() - self._drawn > SECONDS_A_PICTURE:
            self._draw()

    def evaluated(
        self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast], metrics: Mapping[str, float]
    ) -> None:
        """Show one evaluation."""
        self._facts.evaluated(points, forecasts)
        self._draw()

    def alarm(self, text: str) -> None:
        """Show an alarm; the newest stay in sight."""
        self._alarms.append(Text(f"step {self._facts.step:,}: {text}", style="bold red"))
        self._draw()

    def close(self) -> None:
        """Leave the last picture on the screen, if there was any."""
        if self._live.is_started:
            self._draw()
            self._live.stop()

    def _draw(self) -> None:
        # Begun with the first picture: a run that is refused before must leave the terminal as it was.
        if not self._live.is_started:
            self._live.start()
        self._drawn = self._facts.now()
        self._live.refresh()

    def picture(self) -> RenderableType:
        """The whole display."""
        width = min(self._out.width, WIDEST)
        parts: list[RenderableType] = [self._bar(width), self._numbers()]
        for task, points in self._facts.points.items():
            forecast = self._facts.forecasts.get(task)
            parts.append(_standing(task, points, forecast))
            parts.append(plot(points, forecast, steps=self._facts.steps, width=width, height=PLOT_HEIGHT))
        return Group(*parts, *self._alarms[-NUM_ALARMS:])

    def _bar(self, width: int) -> RenderableType:
        facts = self._facts
        left = "" if facts.seconds_left is None else f"{duration_text(facts.seconds_left)} left"
        row = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(facts.steps, 1), completed=facts.step, width=max(10, width // 3))
        row.add_row(
            Text(self._name, style="bold"), bar, Text(f"step {facts.step:,} of {facts.steps:,}"), Text(left)
        )
        return row

    def _numbers(self) -> Text:
        text = Text()
        for name, value in metric_texts(self._facts.metrics).items():
            text.append(f"{name} ", style="dim").append(f"{value}   ")
        return text


def _standing(task: str, points: Sequence[EvalPoint], forecast: FrozenForecast | None) -> Text:
    text = Text(f"{task} ", style="bold")
    text.append("pass rate ", style="dim not bold").append(pass_rate_text(points), style="bold green")
    if forecast is not None:
        text.append("   forecast ", style="dim not bold").append(forecast_text(forecast), style="yellow")
        text.append(f"   {ceiling_text(forecast)}", style="dim not bold")
    return text
