"""Logs as CSV: what the W&B page exports, and histories written out with their keys as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scalerl.errors import InputError
from scalerl.readers.cells import number
from scalerl.readers.choices import Choices
from scalerl.readers.csv_table import open_csv
from scalerl.readers.points import lines_left_out, listed
from scalerl.readers.text_lines import text_lines
from scalerl.readers.trainer_log import STEP_KEYS, Log, merged, step_of
from scalerl.readers.trainers import UNKNOWN, trainer_of
from scalerl.scaling.curve import Curve

_BAND = ("__MIN", "__MAX")
_BETWEEN = " - "


def is_wandb_export(header: Sequence[str]) -> bool:
    """Tell whether columns are named `run - key`, with the band that W&B writes beside each."""
    return any(_BETWEEN in column and column.endswith(_BAND) for column in header)


def is_history(header: Sequence[str]) -> bool:
    """Tell whether columns are the keys of a known trainer, not a table of points."""
    if "compute" in header and "value" in header:
        return False
    is_known = trainer_of(set(header)) is not UNKNOWN
    return "_step" in header or (is_known and any(key in header for key in STEP_KEYS))


def curve(path: Path, choices: Choices) -> Curve:
    """Read a history: one row a logged step, empty cells where a key was not logged."""
    warnings: list[str] = []
    rows = merged((step_of(row), row) for row in _whole_rows(path, open_csv(path).rows, warnings))
    return Log(name=path.stem, file=path, rows=rows, warnings=tuple(warnings)).curve(choices)


def exported_curve(path: Path, choices: Choices) -> Curve:
    """Read one run of an export from the W&B page."""
    opened = open_csv(path)
    axis = opened.header[0]
    if axis != "Step" and axis not in STEP_KEYS and not axis.endswith("global_step"):
        raise InputError(f"its first column is {axis!r}; export the chart against Step", file=path)
    columns = [name for name in opened.header if _BETWEEN in name and not name.endswith(_BAND)]
    column = _column(path, columns, choices.value_column)
    run, _, key = column.partition(_BETWEEN)

    warnings: list[str] = []
    rows = merged((number(row[axis]), {key: row[column]}) for row in _whole_rows(path, opened.rows, warnings))
    named = replace(choices, value_column=key, task=None)
    return Log(name=run, file=path, rows=rows, warnings=tuple(warnings)).curve(named)


def _whole_rows(
    path: Path, rows: Iterator[tuple[int, Mapping[str, object]]], warnings: list[str]
) -> Iterator[Mapping[str, object]]:
    """Yield rows; a last one that was cut off is left out and said."""
    try:
        for _, row in rows:
            yield row
    except InputError as problem:
        if problem.line is None or problem.line < sum(1 for _ in text_lines(path, is_forgiving=True)):
            raise
        warnings.extend(lines_left_out([problem.line], "is cut off", "are cut off"))


def _column(path: Path, columns: Sequence[str], named: str | None) -> str:
    matching = [name for name in columns if named is None or named in (name, name.partition(_BETWEEN)[2])]
    if len(matching) == 1:
        return matching[0]
    what = "several curves" if matching or named is None else f"no column {named!r}"
    raise InputError(f"has {what}: name one with --value-column; there are {listed(columns)}", file=path)
