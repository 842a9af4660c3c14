"""JSON in the cell of a table: as it is, as text, or packed as LiveCodeBench packs its private tests."""

from __future__ import annotations

import base64
import io
import json
import pickle
import zlib
from typing import Any, NoReturn

MOST_BYTES = 1 << 30
"""Of one cell when it is unpacked: more is no set of tests, but a bomb."""


def from_json(value: Any, column: str) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """What a cell holds, read where it is JSON text; ValueError where it cannot be."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        raise ValueError(f"has an empty {column!r}; expected JSON")
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"has broken JSON in {column!r}: {error}") from None


def unpacked(value: Any, column: str) -> Any:  # noqa: ANN401
    """The same, also of JSON text that was pickled, compressed and written in base64."""
    if not isinstance(value, str) or value.lstrip().startswith(("[", "{")):
        return from_json(value, column)
    try:
        text = _TextOnly(io.BytesIO(_decompressed(value))).load()
    except Exception as error:  # whatever base64, zlib and pickle say of bytes that are none of theirs
        problem = f"cannot unpack {column!r} ({type(error).__name__}: {error})"
        raise ValueError(f"{problem}; expected JSON, or base64 of compressed pickled JSON text") from None
    return from_json(text, column)


def _decompressed(value: str) -> bytes:
    unzip = zlib.decompressobj()
    data = unzip.decompress(base64.b64decode(value, validate=True), MOST_BYTES)
    if unzip.unconsumed_tail:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
    return data


class _TextOnly(pickle.Unpickler):
    """Unpickles what needs no class and no function: nothing of anybody's is ever called."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> NoReturn:  # noqa: ANN401
        raise pickle.UnpicklingError("it asks for an object from elsewhere")
