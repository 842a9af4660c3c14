"""Logs and tables to curves: CSV, JSONL, this project's runs, and the logs of other trainers."""

from __future__ import annotations

from pathlib import Path

from scalerl.readers import detect
from scalerl.readers.choices import Choices
from scalerl.scaling.curve import Curve, Unit

__all__ = ["read", "read_all"]


def read(
    path: str | Path,
    *,
    unit: Unit | None = None,
    compute_column: str | None = None,
    value_column: str | None = None,
    value_range: tuple[float, float] | None = None,
    task: str | None = None,
    gpus: float | None = None,
    model_size: float | None = None,
    merge: bool = False,
) -> Curve:
    """Read exactly one curve from a file or directory of any format that is known."""
    choices = Choices(
        unit=unit,
        compute_column=compute_column,
        value_column=value_column,
        value_range=value_range,
        task=task,
        gpus=gpus,
        model_size=model_size,
        merge=merge,
    )
    return detect.curve(Path(path), choices)


def read_all(
    path: str | Path,
    *,
    unit: Unit | None = None,
    compute_column: str | None = None,
    value_column: str | None = None,
    value_range: tuple[float, float] | None = None,
    task: str | None = None,
    gpus: float | None = None,
    model_size: float | None = None,
    merge: bool = False,
) -> tuple[Curve, ...]:
    """Read every curve: a run with several tasks gives one for each, named `run [task]`."""
    choices = Choices(
        unit=unit,
        compute_column=compute_column,
        value_column=value_column,
        value_range=value_range,
        task=task,
        gpus=gpus,
        model_size=model_size,
        merge=merge,
    )
    return detect.curves(Path(path), choices)
