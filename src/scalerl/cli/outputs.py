"""Files that a command writes, checked before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

from scalerl.errors import InputError

FIGURES = (".png", ".svg")
TABLES = (".md", ".tex", ".csv")
PAGES = (".html", ".htm")


def output(option: str, path: str | None, suffixes: tuple[str, ...]) -> Path | None:
    """The path to write to; refuse one that could not be written after minutes of work."""
    if path is None:
        return None
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        raise InputError(f"{option} is {path!r}; expected a name that ends in {' or '.join(suffixes)}")
    if not found.parent.is_dir():
        raise InputError(f"{option} is {path!r}; there is no folder {str(found.parent)!r}")
    if found.is_dir() or not os.access(found if found.exists() else found.parent, os.W_OK):
        raise InputError(f"{option} is {path!r}, which cannot be written")
    return found
