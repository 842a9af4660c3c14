"""Output that nobody reads any more, as after `| head -5`."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast


def discard(stream: TextIO) -> None:
    """Send all that a stream still gets nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def unread_is_fine() -> Generator[None]:
    """Let work go on without output once the reader of standard output or error has left."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Patient(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Patient:
    """A stream whose reader may leave."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            discard(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            discard(self._stream)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self._stream, name)
