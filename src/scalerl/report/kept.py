"""What a run directory keeps of one of its tasks: the forecasts that were frozen while it ran, and its alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalerl.pipeline.live_forecast_record import FORECASTS, FrozenForecast
from scalerl.readers.json_records import forgiving_records
from scalerl.readers.run_directory import EVALS, is_run
from scalerl.scaling.curve import Curve
from scalerl.scaling.number_text import interval_text, level_text, value_text

ALARMS = "alarms.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Frozen forecasts of one task, and the alarms of its run, each as a sentence."""

    forecasts: tuple[FrozenForecast, ...] = ()
    alarms: tuple[str, ...] = ()

    def at_half(self) -> FrozenForecast | None:
        """The last forecast that was frozen by half of the steps, else the first; None where there is none."""
        early = [one for one in self.forecasts if one.made_at_step <= one.end.step / 2]
        return early[-1] if early else next(iter(self.forecasts), None)

    def shown(self, curve: Curve) -> FrozenForecast | None:
        """The forecast to show beside a curve: that of half where its end has come, else the newest."""
        half = self.at_half()
        return half if half is None or point_at(curve, half.end.step) is not None else self.forecasts[-1]

    def in_words(self, curve: Curve) -> str:
        """What was frozen, and what came of it; nothing where nothing was frozen."""
        frozen = self.shown(curve)
        if frozen is None:
            return ""
        end = frozen.end
        low, high = end.evaluation_low, end.evaluation_high
        said = (
            f"Frozen while the run was at step {frozen.made_at_step:,}: {value_text(end.value)} for step"
            f" {end.step:,}, one evaluation {interval_text(low, high)} ({level_text(frozen.level)})"
        )
        point = point_at(curve, end.step)
        if point is None:
            return f"{said}; step {end.step:,} is still to come."
        came = point[1]
        return f"{said}. What came: {value_text(came)}, {'inside' if low <= came <= high else 'outside'} that band."


def kept_of(path: str | Path, task: str | None) -> Kept:
    """Read what a run, named by its directory or its evaluations, keeps of a task; nothing of any other file."""
    place = Path(path).parent if Path(path).name == EVALS else Path(path)
    if not is_run(place):
        return Kept()
    made = [_frozen(record) for record in _records(place / FORECASTS)]
    return Kept(
        forecasts=tuple(one for one in made if one is not None and one.task == task),
        alarms=_latest(_records(place / ALARMS)),
    )


def point_at(curve: Curve, step: float) -> tuple[float, float] | None:
    """Compute and value of a curve at a step, None where it has no point there."""
    if curve.step is None or not (curve.step == step).any():
        return None
    return float(curve.compute[curve.step == step][-1]), float(curve.value[curve.step == step][-1])


def _latest(records: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each alarm as it was last raised, the newest first, and how often it was."""
    names = [str(record.get("name")) for record in records]
    last = {name: record for name, record in zip(names, records, strict=True)}
    newest = sorted(last.items(), key=lambda pair: -float(pair[1].get("step", 0)))
    return tuple(_alarm(name, record, names.count(name)) for name, record in newest)


def _alarm(name: str, record: Mapping[str, Any], times: int) -> str:
    often = f", raised {times} times" if times > 1 else ""
    return f"{name} at step {record.get('step')}{often}: {record.get('text')}"


def _frozen(record: Mapping[str, Any]) -> FrozenForecast | None:
    try:
        return FrozenForecast.of_mapping(record)
    except (KeyError, TypeError):  # of an older or a newer version
        return None


def _records(path: Path) -> list[Mapping[str, Any]]:
    return [record for _, record in forgiving_records(path, [])] if path.is_file() else []
