"""The lines of a text file, numbered, read one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scalerl.errors import InputError

MAX_LINE_BYTES = 16 * 2**20


def text_lines(path: Path, *, is_forgiving: bool = False) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines with their ends; bytes that are not text are errors unless forgiven."""
    for number, raw in enumerate(_raw_lines(path), 1):
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if is_forgiving:
            yield number, line.decode(errors="replace").replace("\0", "")
            continue
        if b"\0" in line:
            raise InputError("holds zero bytes: this is no text file", file=path, line=number)
        try:
            yield number, line.decode()
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; save the file as UTF-8", file=path, line=number) from None


def _raw_lines(path: Path) -> Iterator[bytes]:
    number = 0
    with path.open("rb") as stream:
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                limit = f"{MAX_LINE_BYTES // 2**20} MiB"
                raise InputError(f"is longer than {limit}: this is no log", file=path, line=number)
            yield raw
