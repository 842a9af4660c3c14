"""Paths in a recipe are relative to what states them: they are made absolute when it is read."""

from __future__ import annotations

from pathlib import Path

from scalerl.recipe.sections import Model
from scalerl.recipe.tasks import Maths, Python
from scalerl.recipe.where import Where

DEMO = "demo"
_PATHS: dict[type, tuple[str, ...]] = {Model: ("path",), Maths: ("path", "held_out_path"), Python: ("path",)}


def is_path(section: type, name: str) -> bool:
    """Whether a key of a section holds a path."""
    return name in _PATHS.get(section, ())


def absolute(section: type, value: str, where: Where) -> str:
    """The path as it is meant; empty ones, the demo's policy and all without a folder stay as they are."""
    if where.folder is None or not value or (section is Model and value == DEMO):
        return value
    if section is not Python:
        return _absolute(value, where.folder, where)
    file, colon, name = value.rpartition(":")
    return f"{_absolute(file, where.folder, where)}:{name}" if colon and file else value


def _absolute(value: str, folder: Path, where: Where) -> str:
    try:
        return str((folder / Path(value).expanduser()).resolve())
    except (ValueError, RuntimeError, OSError) as error:
        raise where.error(f"{where.dotted} is no path: {error}") from None
