"""CSV: comment lines, a header, rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.readers.points import listed
from scalerl.readers.table import Table
from scalerl.readers.text_lines import text_lines
from scalerl.readers.units import unit_in_words
from scalerl.scaling.curve import Curve, Unit

UNIT_HINT = "add a line '# unit: gpu_hours' (or flops, tokens, steps) at the top, or give --unit"
_NOTE = re.compile(r"#\s*(?P<key>[\w -]+?)\s*:\s*(?P<words>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFile:
    """A CSV file with its header read and its rows still to come."""

    notes: Mapping[str, tuple[int, str]]
    header: tuple[str, ...]
    rows: Iterator[tuple[int, Mapping[str, object]]]


def open_csv(path: Path) -> CsvFile:
    """Read comments and header; rows follow as they are asked for."""
    notes: dict[str, tuple[int, str]] = {}
    lines = text_lines(path)
    for number, line in lines:
        if line.startswith("#"):
            if note := _NOTE.match(line.strip()):
                notes[note["key"].lower().replace("_", " ")] = number, note["words"]
        elif line.strip():
            rows = _cells(path, chain([(number, line)], lines), number - 1)
            header = next(rows, None)
            if header is None:
                break
            names = _header(path, *header)
            return CsvFile(notes=notes, header=names, rows=_rows(path, names, rows))
    raise InputError("is empty; expected a header and rows", file=path)


def curve(path: Path, choices: Choices) -> Curve:
    """Read a bare CSV of points."""
    opened = open_csv(path)
    words = " ".join(opened.notes[key][1] for key in ("metric", "class") if key in opened.notes)
    return Table(
        file=path,
        columns=opened.header,
        rows=opened.rows,
        unit=_unit(path, opened.notes, choices),
        metric_words=words,
        unit_hint=UNIT_HINT,
    ).curve(choices)


def _unit(path: Path, notes: Mapping[str, tuple[int, str]], choices: Choices) -> Unit | None:
    for key in ("unit", "compute unit"):
        if key in notes:
            line, words = notes[key]
            unit = unit_in_words(words)
            if unit is None and choices.unit is None:
                raise InputError(
                    f"unit is {words!r}; expected gpu_hours, flops, tokens or steps", file=path, line=line
                )
            return unit
    return None


def _header(path: Path, line: int, cells: list[str]) -> tuple[str, ...]:
    header = tuple(cell.strip() for cell in cells)
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(f"the header names {listed(twice)!r} twice", file=path, line=line)
    return header


def _cells(path: Path, lines: Iterator[tuple[int, str]], before: int) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(("\n" if line.startswith("#") else line for _, line in lines), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield before + reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", file=path, line=before + reader.line_num) from None


def _rows(
    path: Path, header: tuple[str, ...], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, Mapping[str, object]]]:
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(
                f"has {len(cells)} fields where the header has {len(header)}; was the file cut off?",
                file=path,
                line=line,
            )
        yield line, dict(zip(header, cells, strict=True))
