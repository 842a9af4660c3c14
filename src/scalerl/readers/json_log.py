"""Logs of JSON lines: verl's file logger, tinker's metrics, W&B history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from scalerl.readers.cells import number
from scalerl.readers.choices import Choices
from scalerl.readers.json_records import Record, forgiving_records, is_record
from scalerl.readers.trainer_log import Log, merged, step_of
from scalerl.scaling.curve import Curve

# File names that say nothing of the run; the folder's name does.
_PLAIN_NAMES = ("metrics", "history", "log", "wandb-history")


def run_name(path: Path) -> str:
    """Name a run by its file, or by its folder where files are all named alike."""
    return path.resolve().parent.name if path.stem in _PLAIN_NAMES else path.stem


def flat(record: Record) -> tuple[float | None, Mapping[str, object]]:
    """Give a record's step and its keys; verl wraps the keys in `data`."""
    data = record.get("data")
    if is_record(data) and "step" in record:
        return number(record["step"]), data
    return step_of(record), record


def curve(path: Path, choices: Choices) -> Curve:
    """Read a trainer's JSON lines."""
    warnings: list[str] = []

    def records() -> Iterator[tuple[float | None, Mapping[str, object]]]:
        for _, record in forgiving_records(path, warnings):
            yield flat(record)

    rows = merged(records())
    return Log(name=run_name(path), file=path, rows=rows, warnings=tuple(warnings)).curve(choices)
