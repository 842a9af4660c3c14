"""What a section of a recipe can hold, read off its dataclass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from scalerl.recipe.knob import Bounds
from scalerl.recipe.recipe import Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One key of a section: its type, what it is when nobody states it, its one sentence, its bounds."""

    name: str
    type: Any
    default: Any
    doc: str
    bounds: Bounds


@cache
def keys_of(section: type) -> Mapping[str, Key]:
    """The keys of a section by name, in the order of the dataclass."""
    hints = get_type_hints(section)
    return {
        one.name: Key(
            name=one.name,
            type=hints[one.name],
            default=_default(one),
            doc=one.metadata.get("doc", ""),
            bounds=one.metadata.get("bounds", Bounds()),
        )
        for one in fields(section)
    }


@cache
def kinds_of(annotation: Any) -> Mapping[str, type]:  # noqa: ANN401 - a type as the typing module has it
    """The sections that a key with kinds can hold, by kind; empty for every other key."""
    if get_origin(annotation) is not UnionType:
        return {}
    return {keys_of(one)["kind"].default: one for one in get_args(annotation)}


def is_section(annotation: Any) -> bool:  # noqa: ANN401
    """Whether a key holds a section whose keys are always the same."""
    return is_dataclass(annotation)


def item_section(annotation: Any) -> type | None:  # noqa: ANN401
    """The section that a key holds a list of, such as the parts of a mixture; None for every other key."""
    items = get_args(annotation) if get_origin(annotation) is tuple else ()
    return items[0] if items and is_section(items[0]) else None


def known_keys(section: type = Recipe, above: str = "") -> Iterator[str]:
    """Every dotted key there is, of all kinds."""
    for key in keys_of(section).values():
        name = f"{above}{key.name}"
        inner = [key.type] if is_section(key.type) else list(kinds_of(key.type).values())
        if not inner:
            yield name
        for one in inner:
            yield from known_keys(one, f"{name}.")


def leaves_of(section: object, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted key of a recipe, or of a section of it, with its value."""
    for key in keys_of(type(section)).values():
        name, value = f"{above}{key.name}", getattr(section, key.name)
        if is_dataclass(value):
            yield from leaves_of(value, f"{name}.")
        elif item_section(key.type):
            for index, one in enumerate(value):
                yield from leaves_of(one, f"{name}[{index}].")
        else:
            yield name, value


def _default(one: Field[Any]) -> Any:  # noqa: ANN401
    return one.default if one.default_factory is MISSING else one.default_factory()
