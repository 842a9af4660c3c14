"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.readers.points import lines_left_out
from scalerl.readers.table import Table
from scalerl.readers.text_lines import text_lines
from scalerl.scaling.curve import Curve

Record = Mapping[str, Any]


def is_record(found: object) -> TypeGuard[Record]:
    """Tell whether a JSON value is an object."""
    return isinstance(found, dict)


def parsed(text: str) -> object:
    """Parse JSON, or give None where the text is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def strict_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield every line's object; a line that is none is an error."""
    for number, line in text_lines(path):
        if line.strip():
            found = parsed(line)
            if not is_record(found):
                cut = "" if line.endswith("\n") else "; was the file cut off?"
                expected = 'expected a line such as {"compute": 1, "value": 0.5}'
                raise InputError(f"is not a JSON object{cut}; {expected}", file=path, line=number)
            yield number, found


def forgiving_records(path: Path, warnings: list[str]) -> Iterator[tuple[int, Record]]:
    """Yield every line's object; torn lines are left out and said so at the end."""
    torn: list[int] = []
    for number, line in text_lines(path, is_forgiving=True):
        if line.strip():
            found = parsed(line)
            if is_record(found):
                yield number, found
            else:
                torn.append(number)
    found = lines_left_out(torn, "is no JSON object", "are no JSON objects")
    warnings.extend(f"{path.name}: {words}" for words in found)


def curve(path: Path, choices: Choices) -> Curve:
    """Read a bare JSONL of points: the keys of its first line are its columns."""
    records = strict_records(path)
    first = next(records, None)
    if first is None:
        raise InputError("is empty; expected one JSON object a line", file=path)
    rows = chain([first], records)
    hint = "name the key gpu_hours, flops, tokens or steps, or give --unit"
    return Table(file=path, columns=tuple(first[1]), rows=rows, unit_hint=hint).curve(choices)
