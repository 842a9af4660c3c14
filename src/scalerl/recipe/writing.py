"""A recipe as TOML: every key resolved, each with its sentence, and read back as the same recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from scalerl.recipe.keys import item_section, keys_of
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.toml_value import toml_value


def to_toml(recipe: Recipe) -> str:
    """The whole recipe, nothing left to defaults: reading it gives the same recipe back."""
    return "\n".join(_table(recipe, "")) + "\n"


def _table(section: Any, above: str) -> Iterator[str]:  # noqa: ANN401 - any dataclass of a recipe
    """The pairs of a section, then the sections inside it, as TOML wants them."""
    inner: list[str] = []
    for key in keys_of(type(section)).values():
        value, name = getattr(section, key.name), f"{above}{key.name}"
        if is_dataclass(value):
            inner += ["", f"[{name}]", *_table(value, f"{name}.")]
        elif item_section(key.type) and value:
            for one in value:
                inner += ["", f"[[{name}]]", *_table(one, f"{name}.")]
        else:
            # What a kind is stands in the docstring of its class.
            comment = key.doc or str(type(section).__doc__).splitlines()[0]
            yield f"{key.name} = {toml_value(value)}  # {comment}"
    yield from inner
