"""The recipes that are shipped, one commented TOML each."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "recipes"
_NAMES = ("scalerl", "baseline", "grpo", "dapo", "magistral", "minimax", "demo", "code-demo")


def names() -> tuple[str, ...]:
    """Their names: the paper's own recipe, where its ablations start, those it compares, the demo."""
    return _NAMES


def path_of(name: str) -> Path:
    """The file of a shipped recipe."""
    if name not in _NAMES:
        raise KeyError(name)
    return FOLDER / f"{name}.toml"
