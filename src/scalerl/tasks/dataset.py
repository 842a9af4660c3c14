"""The rows of a dataset: JSON lines, parquet or arrow, one at a time, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.tasks.dataset_files import JSON_LINES, files


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One record, and the file and line (or row, from 1) where it stands."""

    cells: Mapping[str, Any]
    file: Path
    line: int


def rows(path: str, columns: Sequence[str]) -> Iterator[Row]:
    """Read a file, a pattern or a folder; of binary formats only these columns, which must be there."""
    for file in files(path):
        if file.suffix in JSON_LINES:
            yield from _json_rows(file)
        else:
            yield from _arrow_rows(file, columns)


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


def _arrow_rows(file: Path, columns: Sequence[str]) -> Iterator[Row]:
    number = 0
    for batch in _batches(file, columns):
        for cells in batch.to_pylist():
            number += 1
            yield Row(cells=cells, file=file, line=number)


def _batches(file: Path, columns: Sequence[str]) -> Iterator[Any]:
    pa, parquet = _pyarrow(file)
    try:
        if file.suffix == ".parquet":
            with parquet.ParquetFile(file) as table:
                _refuse_missing(columns, table.schema_arrow.names, file)
                yield from table.iter_batches(columns=list(columns))
        else:
            with pa.memory_map(str(file)) as source:
                reader = pa.ipc.open_stream(source)
                _refuse_missing(columns, reader.schema.names, file)
                yield from (batch.select(list(columns)) for batch in reader)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"cannot be read as {file.suffix}: {error}", file=file) from None


def _refuse_missing(columns: Sequence[str], there_are: Sequence[str], file: Path) -> None:
    for column in columns:
        if column not in there_are:
            raise InputError(f"has no column {column!r}; its columns are {', '.join(there_are)}", file=file)


def _pyarrow(file: Path) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = f"reading {file.suffix} files needs pyarrow: pip install 'scalerl[maths]'"
        raise InputError(message, file=file) from None
    return pyarrow, pyarrow.parquet
