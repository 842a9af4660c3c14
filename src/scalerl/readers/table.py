"""A bare table of points: strict, because nothing in it says how a mistake should be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.cells import finite, number
from scalerl.readers.choices import Choices
from scalerl.readers.points import (
    TRAINING_REWARD,
    all_axes,
    enough,
    is_rising,
    lines_left_out,
    listed,
    range_warnings,
    scaled,
)
from scalerl.readers.units import UNIT_COLUMNS
from scalerl.scaling.curve import LARGEST, SMALLEST, Curve, Metric, Unit, Vector

ASSUMED_UNIT: Unit = "gpu_hours"  # the paper's axis

# Keys no header can hold, because cells of a header are stripped.
_VALUE, _COUNT = " value", " count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Named columns, numbered rows, and what comments said about them."""

    file: Path
    columns: tuple[str, ...]
    rows: Iterator[tuple[int, Mapping[str, object]]]
    unit: Unit | None = None
    metric_words: str = ""
    unit_hint: str = "give --unit"

    def curve(self, choices: Choices) -> Curve:
        """Read the chosen columns as one curve."""
        if choices.task is not None:
            raise InputError("--task is given, but a table of points has no tasks", file=self.file)
        if all(number(name) is not None for name in self.columns):
            raise InputError("the first row holds numbers; expected a header such as compute,value", file=self.file)
        compute, value = self._compute_column(choices), self._value_column(choices)
        unit, warnings = self._unit(compute, choices)
        named: dict[str, Unit] = {name: UNIT_COLUMNS[name] for name in self.columns if name in UNIT_COLUMNS}
        merged: list[int] = []
        read = self._read([compute, *named], value, choices, merged)
        known: dict[Unit, Vector] = {axis: read[column] for column, axis in named.items()}
        axes: dict[Unit, Vector] = {axis: column for axis, column in known.items() if is_rising(column)}
        metric, words = self._metric(choices)
        return Curve(
            name=self.file.stem,
            unit=unit,
            compute=read[compute],
            value=read[_VALUE],
            num_samples=read[_COUNT],
            step=read.get("step"),
            metric=metric,
            axes=all_axes(axes, read[compute], UNIT_COLUMNS.get(compute), unit),
            warnings=(
                *warnings,
                *(f"{axis} do not rise and are left out" for axis in known if axis not in axes),
                *words,
                *range_warnings(choices),
                *lines_left_out(
                    merged, "has the compute of the line after it", "have the compute of the line after them"
                ),
            ),
        )

    def _read(self, numeric: Sequence[str], value: str, choices: Choices, merged: list[int]) -> dict[str, Vector]:
        kept: dict[str, list[float]] = {name: [] for name in (*numeric, _VALUE, _COUNT)}
        last_line = 0
        for line, row in self.rows:
            for name in dict.fromkeys(numeric):
                kept[name].append(finite(row.get(name), name, file=self.file, line=line))
            found = finite(row.get(value), value, file=self.file, line=line)
            kept[_VALUE].append(scaled(found, choices, label=repr(value), file=self.file, line=line))
            kept[_COUNT].append(self._count(row.get("n"), line))
            if choices.merge and kept[numeric[0]][-2:-1] == kept[numeric[0]][-1:]:
                merged.append(last_line)
                for column in kept.values():
                    del column[-2]
            self._check_order(kept[numeric[0]], numeric[0], line, last_line)
            last_line = line
        enough(len(kept[_VALUE]), file=self.file)
        return {name: np.array(column) for name, column in kept.items()}

    def _check_order(self, compute: list[float], name: str, line: int, last_line: int) -> None:
        if compute[-1] != 0 and not SMALLEST <= compute[-1] <= LARGEST:
            expected = "0 or more" if compute[-1] < 0 else f"0, or {SMALLEST:g} to {LARGEST:g}"
            raise InputError(f"{name!r} is {compute[-1]:g}; expected {expected}", file=self.file, line=line)
        if len(compute) < 2 or compute[-1] > compute[-2]:
            return
        if compute[-1] == compute[-2]:
            raise InputError(
                f"{name!r} is {compute[-1]:g} as in line {last_line}; expected one row for each amount of compute"
                " (--merge keeps the last)",
                file=self.file,
                line=line,
            )
        raise InputError(
            f"{name!r} falls from {compute[-2]:g} to {compute[-1]:g}; sort the rows by compute",
            file=self.file,
            line=line,
        )

    def _count(self, cell: object, line: int) -> float:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return np.nan
        count = finite(cell, "n", file=self.file, line=line)
        if count <= 0:
            raise InputError(f"'n' is {count:g}; expected a positive count", file=self.file, line=line)
        return count

    def _compute_column(self, choices: Choices) -> str:
        if choices.compute_column is not None:
            return self._existing(choices.compute_column, "--compute-column")
        if "compute" in self.columns:
            return "compute"
        named = [column for column in self.columns if column in UNIT_COLUMNS]
        if len(named) == 1:
            return named[0]
        could = f"; {listed(named)} could be it" if named else ""
        raise InputError(
            f"has no column 'compute'{could}: name one with --compute-column; there are {listed(self.columns)}",
            file=self.file,
        )

    def _value_column(self, choices: Choices) -> str:
        if choices.value_column is not None:
            return self._existing(choices.value_column, "--value-column")
        if "value" in self.columns:
            return "value"
        raise InputError(
            f"has no column 'value': name one with --value-column; there are {listed(self.columns)}",
            file=self.file,
        )

    def _existing(self, column: str, option: str) -> str:
        if column in self.columns:
            return column
        raise InputError(f"{option} is {column!r}; there are {listed(self.columns)}", file=self.file)

    def _unit(self, column: str, choices: Choices) -> tuple[Unit, tuple[str, ...]]:
        is_described = column == "compute" or "compute" not in self.columns
        known = UNIT_COLUMNS.get(column) or (self.unit if is_described else None)
        unit, warnings = choices.unit_of(column, known)
        if unit is None:
            return ASSUMED_UNIT, (
                f"the unit of {column!r} is not named, {ASSUMED_UNIT} is assumed: {self.unit_hint}",
            )
        return unit, warnings

    def _metric(self, choices: Choices) -> tuple[Metric, tuple[str, ...]]:
        words = self.metric_words.lower()
        is_reward = "reward" in words
        if is_reward and re.search(r"\btrain", words):
            return "reward", (TRAINING_REWARD,)
        if is_reward:
            return "reward", ("values are mean rewards, not pass rates",)
        return ("pass_rate" if choices.value_range is None else "reward"), ()
