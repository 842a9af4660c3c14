"""JSON in the cell of a table: as it is, as text, or packed as LiveCodeBench packs its private tests."""

from __future__ import annotations

import base64
import json
import pickletools
import zlib
from itertools import islice
from typing import Any

MOST_BYTES = 1 << 28
"""Of one cell when it is unpacked: more is no set of tests, but a bomb."""
MOST_STEPS = 16
"""Of a pickle that is walked: one text takes five."""
_TEXTS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP"})


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
        text = _pickled_text(_decompressed(value))
    except Exception as error:  # whatever base64, zlib and pickle say of bytes that are none of theirs
        problem = f"cannot unpack {column!r} ({type(error).__name__}: {error})"
        raise ValueError(f"{problem}; expected JSON, or base64 of compressed pickled JSON text") from None
    return from_json(text, column)


def _decompressed(value: str) -> bytes:
    unzip = zlib.decompressobj()
    data = unzip.decompress(base64.b64decode(value, validate=True), MOST_BYTES)
    if unzip.unconsumed_tail or len(data) == MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
    if not unzip.eof:
        raise ValueError("it is cut off")
    return data


def _pickled_text(data: bytes) -> str:
    """The one text in a pickle, which is walked and not loaded: to load a few bytes can take hours or gigabytes."""
    texts: list[str] = []
    for opcode, argument, _ in islice(pickletools.genops(data), MOST_STEPS):
        if opcode.name in _TEXTS:
            texts.append(str(argument))
        elif opcode.name not in _AROUND:
            raise ValueError(f"its pickle holds {opcode.name}, not one text alone")
        if opcode.name == "STOP" and len(texts) == 1:
            return texts[0]
    raise ValueError("its pickle does not hold one text alone")
