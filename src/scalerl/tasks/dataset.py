"""The rows of a dataset: JSON lines, parquet or arrow, one at a time, each with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.tasks.dataset_files import JSON_LINES, files

ROWS_AT_ONCE = 256  # of a parquet file: the tests of one problem can be megabytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One record, and the file and line (or row, from 1) where it stands."""

    cells: Mapping[str, Any]
    file: Path
    line: int

    def text(self, column: str, hint: str = "") -> str:
        """What stands in a column as text, numbers too; a hint says whence its name comes."""
        match self.cells.get(column):
            case None:
                problem = f"has no {column!r}"
            case str() as text if not is_writable(text):
                problem = f"has text in {column!r} that is no UTF-8; expected no half of a character"
            case str() as text if text.strip():
                return text.strip()
            case str():
                problem = f"has an empty {column!r}"
            case int() as number if not isinstance(number, bool):
                return str(number)
            case float() as number if math.isfinite(number):
                return format(Decimal(repr(number)), "f")  # 1e-07 is no number in LaTeX
            case other:
                problem = f"has {other!r:.40} as {column!r}; expected text or a number"
        raise self.refusal(f"{problem}{hint}")

    def refusal(self, problem: str) -> InputError:
        """Why this row cannot be used, with its place."""
        return InputError(problem, file=self.file, line=self.line)


def is_writable(text: str) -> bool:
    r"""Tell whether a text can be written as UTF-8: JSON may hold half of a character, as in `"\ud800"`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def rows(path: str, columns: Sequence[str], *, any_of: Sequence[str] = ()) -> Iterator[Row]:
    """Read a file, a pattern or a folder.

    Of binary formats only these columns, which must be there, and those of `any_of` that are.
    """
    for file in files(path):
        if file.suffix in JSON_LINES:
            yield from _json_rows(file)
        else:
            yield from _arrow_rows(file, columns, any_of)


def _json_rows(file: Path) -> Iterator[Row]:
    from scalerl.readers.text_lines import text_lines  # loads the readers: not needed where answers are judged

    for number, line in text_lines(file):
        if line.strip():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError("is broken JSON; expected one object a line", file=file, line=number) from None
            if not isinstance(found, dict):
                raise InputError("is no JSON object; expected one object a line", file=file, line=number)
            yield Row(cells=found, file=file, line=number)


def _arrow_rows(file: Path, columns: Sequence[str], any_of: Sequence[str]) -> Iterator[Row]:
    number = 0
    for batch in _batches(file, columns, any_of):
        for cells in batch.to_pylist():
            number += 1
            yield Row(cells=cells, file=file, line=number)


def _batches(file: Path, columns: Sequence[str], any_of: Sequence[str]) -> Iterator[Any]:
    pa, parquet = _pyarrow(file)
    try:
        if file.suffix == ".parquet":
            with parquet.ParquetFile(file) as table:
                chosen = _chosen(columns, any_of, table.schema_arrow.names, file)
                yield from table.iter_batches(columns=chosen, batch_size=ROWS_AT_ONCE)
        else:
            with pa.memory_map(str(file)) as source:
                reader = pa.ipc.open_stream(source)
                chosen = _chosen(columns, any_of, reader.schema.names, file)
                yield from (batch.select(chosen) for batch in reader)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"cannot be read as {file.suffix}: {error}", file=file) from None


def _chosen(columns: Sequence[str], any_of: Sequence[str], there_are: Sequence[str], file: Path) -> list[str]:
    for column in columns:
        if column not in there_are:
            raise InputError(f"has no column {column!r}; its columns are {', '.join(there_are)}", file=file)
    chosen = [*columns, *(column for column in any_of if column in there_are and column not in columns)]
    if not chosen:
        raise InputError(f"has none of the columns {', '.join(any_of)}; it has {', '.join(there_are)}", file=file)
    return chosen


def _pyarrow(file: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = f"reading {file.suffix} files needs pyarrow: pip install 'scalerl[parquet]'"
        raise InputError(message, file=file) from None
    return pyarrow, pyarrow.parquet
