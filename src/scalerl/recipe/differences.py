"""What two recipes do not agree on."""

from __future__ import annotations

from collections.abc import Collection

from scalerl.recipe.keys import leaves_of
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.toml_value import toml_value


def differences(old: Recipe, new: Recipe, *, ignore: Collection[str] = ()) -> list[str]:
    """Each key that differs, as in `loss.cap: 5.0 -> 8.0`, but for those to ignore: keys or whole sections."""
    before, after = dict(leaves_of(old)), dict(leaves_of(new))
    return [
        f"{key}: {_value(before, key)} -> {_value(after, key)}"
        for key in dict.fromkeys([*before, *after])
        if not _is_ignored(key, ignore) and (key not in before or key not in after or before[key] != after[key])
    ]


def _value(leaves: dict[str, object], key: str) -> str:
    return toml_value(leaves[key]) if key in leaves else "none"


def _is_ignored(key: str, ignore: Collection[str]) -> bool:
    return any(key == one or key.startswith((f"{one}.", f"{one}[")) for one in ignore)
