"""The same metrics elsewhere: Weights & Biases and TensorBoard, where a recipe asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from scalerl.errors import InputError
from scalerl.pipeline.live_forecast_record import FrozenForecast
from scalerl.recipe.sections import Log
from scalerl.records import EvalPoint

TENSORBOARD = "tensorboard"
"""Folder of the event files in a run directory."""


class Sink(Protocol):
    """A place that metrics go to."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take in the metrics of one step."""
        ...

    def close(self) -> None:
        """Write out what is still held back."""
        ...


class Sinks:
    """All places that metrics go to; none of them by default. It looks on at a run like a display does."""

    def __init__(self, sinks: Sequence[Sink] = ()) -> None:
        self._sinks = sinks

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the metrics of one step to each."""
        for sink in self._sinks:
            sink.log(step, metrics)

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand on what an optimizer step said."""
        self.log(step, metrics)

    def evaluated(
        self, points: Sequence[EvalPoint], forecasts: Sequence[FrozenForecast], metrics: Mapping[str, float]
    ) -> None:
        """Hand on where the tasks stand."""
        if points:
            self.log(points[0].step, metrics)

    def alarm(self, text: str) -> None:
        """Words are no metrics."""

    def close(self) -> None:
        """Close each."""
        for sink in self._sinks:
            sink.close()


def sinks_of(log: Log, place: Path) -> Sinks:
    """The places that a recipe names, for the run in this directory."""
    found: list[Sink] = []
    if log.wandb:
        found.append(WeightsAndBiases(project=log.wandb, place=place))
    if log.tensorboard:
        found.append(TensorBoard(place / TENSORBOARD))
    return Sinks(found)


class WeightsAndBiases:
    """A run of Weights & Biases, the same after a resume; whether it is online is that package's own business."""

    def __init__(self, *, project: str, place: Path) -> None:
        wandb = _module("wandb", key="log.wandb", extra="wandb")
        known = place / "wandb" / "id"
        earlier = known.read_text() if known.is_file() else None
        try:
            self._run: Any = wandb.init(
                project=project, name=place.name, dir=str(place), id=earlier, resume="allow" if earlier else None
            )
        except wandb.errors.Error as problem:
            raise InputError(f"log.wandb is {project!r}; Weights & Biases refuses: {problem}") from problem
        known.parent.mkdir(exist_ok=True)
        known.write_text(str(self._run.id))
        # A resumed run logs some steps again, which its own step counter would refuse.
        self._run.define_metric("*", step_metric="step")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log under the run's own step."""
        self._run.log({"step": step, **metrics})

    def close(self) -> None:
        """Finish the run."""
        self._run.finish()


class TensorBoard:
    """Event files of TensorBoard."""

    def __init__(self, folder: Path) -> None:
        written_by = {"key": "log.tensorboard", "extra": "tensorboard"}
        writer = _module("tensorboard.summary.writer.event_file_writer", **written_by)
        self._events: Any = _module("tensorboard.compat.proto.event_pb2", **written_by)
        self._summaries: Any = _module("tensorboard.compat.proto.summary_pb2", **written_by)
        self._writer: Any = writer.EventFileWriter(str(folder))
        self._has_begun = False

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write one event with all scalars."""
        if not self._has_begun:
            self._begin(step)
        values = [self._summaries.Summary.Value(tag=key, simple_value=value) for key, value in metrics.items()]
        self._writer.add_event(self._events.Event(step=step, summary=self._summaries.Summary(value=values)))

    def close(self) -> None:
        """Write out the events that are still held back."""
        self._writer.close()

    def _begin(self, step: int) -> None:
        """Have TensorBoard forget what earlier files of a resumed run say from this step on."""
        self._has_begun = True
        began = self._events.SessionLog(status=self._events.SessionLog.START)
        self._writer.add_event(self._events.Event(step=step, session_log=began))


def _module(name: str, *, key: str, extra: str) -> Any:  # noqa: ANN401 - a package without complete types
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{key} is set, but the package is missing: pip install 'scalerl[{extra}]'") from None
