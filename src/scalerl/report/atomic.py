"""A file is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scalerl.errors import InputError


def write_atomically(content: bytes, path: str | Path) -> None:
    """Write a file beside its place and move it there; a missing folder is refused by name."""
    place = Path(path)
    if not place.parent.is_dir():
        raise InputError(f"the folder {place.parent} does not exist; make it first", file=place)
    if place.is_dir():
        raise InputError("this is a folder; expected a file to write", file=place)
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    except OSError as problem:
        raise InputError(
            f"cannot be written ({problem.strerror}); expected a folder of yours", file=place
        ) from None
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        beside.chmod(0o666 & ~_umask())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def suffix_of(path: str | Path, expected: tuple[str, ...]) -> str:
    """The suffix of a file to write, or a refusal that names those there are."""
    suffix = Path(path).suffix.lower()
    if suffix not in expected:
        raise InputError(f"the suffix is {suffix!r}; expected one of {', '.join(expected)}", file=path)
    return suffix


def _umask() -> int:
    """Temporary files are private: what this process would have made otherwise."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
