"""Files that are there whole or not at all, also after a kill or a power cut."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scalerl.errors import StoppedError

TEMPORARY = ".*.tmp"
"""What every temporary of a run is called; anything of that name may be swept away by the next writer."""


class WriteError(StoppedError):
    """The disk did not take something: what, why, and what is still whole."""


def beside(path: Path, note: str = "") -> Path:
    """The temporary beside a place."""
    return path.with_name(f".{path.name}{note}.tmp")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def append_whole(path: Path, line: bytes) -> None:
    """Append a line in one write; where the disk takes only a part of it, that part is taken back."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size, rest = os.fstat(handle).st_size, line
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Have a file or folder reach the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def discard(path: Path) -> None:
    """Remove a temporary, file or folder, as far as that is possible: the next writer sweeps what is left."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def said_of(path: Path) -> Generator[None]:
    """Turn an error of the disk into one line for people."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        hint = "mend that, then go on from the last checkpoint with --resume"
        raise WriteError(f"{path}: cannot be written ({reason}); {hint}") from problem
