"""What the user says about files, and the curves in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from scalerl.cli.names import distinct_names
from scalerl.cli.numbers import listed, low_and_high, one_of, positive

if TYPE_CHECKING:
    from scalerl.scaling.curve import Curve, Unit

UNITS = ("gpu_hours", "flops", "tokens", "steps")
_PANEL = "Reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read the files."""

    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", help=f"{', '.join(UNITS)}.", rich_help_panel=_PANEL),
    ] = None
    compute_column: Annotated[
        str | None, Option("--compute-column", metavar="NAME", help="Column of compute.", rich_help_panel=_PANEL)
    ] = None
    value_column: Annotated[
        str | None, Option("--value-column", metavar="NAME", help="Column of the value.", rich_help_panel=_PANEL)
    ] = None
    value_range: Annotated[
        str | None, Option("--range", metavar="LOW,HIGH", help="Rescale rewards to 0..1.", rich_help_panel=_PANEL)
    ] = None
    task: Annotated[
        str | None, Option("--task", metavar="NAME", help="One task of several.", rich_help_panel=_PANEL)
    ] = None
    gpus: Annotated[
        str | None, Option("--gpus", metavar="N", help="GPUs, for GPU-hours of a log.", rich_help_panel=_PANEL)
    ] = None
    model_size: Annotated[
        str | None,
        Option("--model-size", metavar="N", help="Parameters, for FLOPs of a log.", rich_help_panel=_PANEL),
    ] = None
    merge: Annotated[bool, Option("--merge", help="Keep the last of equal computes.", rich_help_panel=_PANEL)] = (
        False
    )

    def curves(self, file: str) -> tuple[Curve, ...]:
        """Read every curve of a file."""
        from scalerl.readers import read_all

        return read_all(file, **self._choices())

    def _choices(self) -> dict[str, Any]:
        return {
            "unit": self.unit and cast("Unit", one_of("--unit", self.unit, UNITS)),
            "compute_column": self.compute_column,
            "value_column": self.value_column,
            "value_range": self.value_range and low_and_high("--range", self.value_range),
            "task": self.task,
            "gpus": self.gpus and positive("--gpus", self.gpus),
            "model_size": self.model_size and positive("--model-size", self.model_size),
            "merge": self.merge,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A curve and the file it was read from, as the user named it."""

    file: str
    task: str | None
    curve: Curve


def expanded(arguments: Sequence[str]) -> list[str]:
    """Every file that arguments name: each is a file, or several between commas."""
    return [file for argument in arguments for file in named_files(argument)]


def named_files(argument: str, option: str = "FILE") -> tuple[str, ...]:
    """The files that an argument names: itself if there is such a file, else those between its commas."""
    return (argument,) if Path(argument).exists() else listed(option, [argument])


def read_runs(files: Sequence[str], reading: Reading) -> tuple[Run, ...]:
    """Read every curve of every file, each under a name that tells it from the others."""
    return tuple(run for runs in read_files(files, reading) for run in runs)


def read_files(files: Sequence[str], reading: Reading) -> list[tuple[Run, ...]]:
    """The same, file by file."""
    return [_runs(file, name, reading) for file, name in zip(files, distinct_names(files), strict=True)]


def _runs(file: str, name: str, reading: Reading) -> tuple[Run, ...]:
    curves = reading.curves(file)
    titles = [name if len(curves) == 1 else f"{name} [{curve.task}]" for curve in curves]
    return tuple(
        Run(file=file, task=curve.task, curve=replace(curve, name=title))
        for curve, title in zip(curves, titles, strict=True)
    )
