"""Paths in a recipe are relative to what states them: they are made absolute when it is read."""

from __future__ import annotations

from pathlib import Path

from scalerl.recipe.sections import Model
from scalerl.recipe.tasks import Code, Maths, Python
from scalerl.recipe.where import Where

PACKAGE = Path(__file__).parent.parent
SHIPPED: dict[type, tuple[str, ...]] = {
    Model: ("demo", "demo_code"),
    Code: ("demo_code/train.jsonl", "demo_code/held_out.jsonl"),
}
"""What comes with the package, by the key that may name it; `./demo` is a folder of yours."""
_PATHS: dict[type, tuple[str, ...]] = {
    Model: ("path",),
    Maths: ("path", "held_out_path"),
    Code: ("path", "held_out_path"),
    Python: ("path",),
}


def is_path(section: type, name: str) -> bool:
    """Whether a key of a section holds a path."""
    return name in _PATHS.get(section, ())


def is_shipped(section: type, value: str) -> bool:
    """Whether a path names what comes with the package."""
    return value in SHIPPED.get(section, ())


def place_of(section: type, value: str) -> Path:
    """Where a path of a recipe leads: into the package where it names what is shipped."""
    return PACKAGE / value if is_shipped(section, value) else Path(value)


def absolute(section: type, value: str, where: Where) -> str:
    """The path as it is meant; empty ones, what is shipped and all without a folder stay as they are."""
    if where.folder is None or not value or is_shipped(section, value):
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
