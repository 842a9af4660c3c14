"""One stated value: its type, its bounds, and the error that says what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args, get_origin

from scalerl.errors import InputError
from scalerl.recipe.expected import bounds_in_words, choices_in_words, type_in_words
from scalerl.recipe.keys import Key
from scalerl.recipe.knob import Bounds
from scalerl.recipe.toml_value import toml_value
from scalerl.recipe.where import Where
from scalerl.recipe.words import Words

_LONGEST = 60


def converted(value: Any, key: Key, where: Where) -> Any:  # noqa: ANN401 - values of any type
    """A value of the key's type within its bounds."""
    if isinstance(value, Mapping) and where.is_command:
        below = ", ".join(where.at(name).dotted for name in cast("Mapping[str, Any]", value))
        raise where.error(f"unknown key {below}; {where.dotted} is a single value: {type_in_words(key.type)}")
    return _of_type(_typed(value, key.type), key.type, key.bounds, where)


def one_of(value: Any, choices: tuple[str, ...], where: Where) -> str:  # noqa: ANN401
    """One of a few names."""
    found = value.as_text() if isinstance(value, Words) else value
    if not isinstance(found, str) or found not in choices:
        raise wrong(found, choices_in_words(choices), where)
    return found


def plain(value: Any, where: Where) -> Any:  # noqa: ANN401
    """A value of a table that is passed on as it is: everything of TOML but dates and numbers that are none."""
    if isinstance(value, Words):
        found = value.as_toml()
        if found is None:
            raise where.error(f"{where.dotted} is {value}, which is no TOML value; a string needs quotes")
        return plain(found, where)
    if isinstance(value, Mapping):
        return {name: plain(one, where.at(name)) for name, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [plain(one, where.at(index)) for index, one in enumerate(cast("list[Any]", value))]
    if isinstance(value, str | bool) or (isinstance(value, int | float) and _is_possible(value)):
        return value
    raise wrong(value, "a string, a finite number, true or false, a list or a table", where)


def wrong(value: Any, expected: str, where: Where) -> InputError:  # noqa: ANN401
    """The error that names key, value and what would be right."""
    return where.error(f"{where.dotted} is {shown(value)}; expected {expected}")


def shown(value: Any) -> str:  # noqa: ANN401
    """A value in a message: on one line, and not longer than a person wants to read."""
    if isinstance(value, Mapping):
        return "a table"
    try:
        text = toml_value(value.text if isinstance(value, Words) else value)
    except InputError:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _typed(value: Any, annotation: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, Words):
        return value
    if annotation is str or get_origin(annotation) is Literal:
        return value.as_text()
    found = value.as_toml()
    return value.text if found is None else found


def _of_type(value: Any, annotation: Any, bounds: Bounds, where: Where) -> Any:  # noqa: ANN401
    if get_origin(annotation) is Literal:
        return one_of(value, get_args(annotation), where)
    if get_origin(annotation) is tuple:
        return _items(value, annotation, bounds, where)
    # bool is a subclass of int in Python, not in recipes; a whole number is a number.
    accepted = (int, float) if annotation is float else annotation
    if not isinstance(value, accepted) or isinstance(value, bool) is not (annotation is bool):
        raise wrong(value, _expected(annotation, bounds), where)
    if isinstance(value, int | float):
        _require_number(value, _expected(annotation, bounds), bounds, where)
    return float(value) if annotation is float else value


def _items(value: Any, annotation: Any, bounds: Bounds, where: Where) -> tuple[Any, ...]:  # noqa: ANN401
    types: tuple[Any, ...] = get_args(annotation)
    if not isinstance(value, list):
        raise wrong(value, type_in_words(annotation), where)
    items = cast("Sequence[Any]", value)
    if types[-1] is Ellipsis:
        types = types[:1] * len(items)
    if len(items) != len(types):
        raise wrong(value, type_in_words(annotation), where)
    pairs = zip(items, types, strict=True)
    return tuple(_of_type(one, kind, bounds, where.at(index)) for index, (one, kind) in enumerate(pairs))


def _require_number(value: float, expected: str, bounds: Bounds, where: Where) -> None:
    if not _is_possible(value):
        raise wrong(value, f"{expected}, finite and within 64 bits", where)
    if not _is_within(value, bounds):
        raise wrong(value, expected, where)


def _expected(annotation: Any, bounds: Bounds) -> str:  # noqa: ANN401
    return ", ".join(part for part in (type_in_words(annotation), bounds_in_words(bounds)) if part)


def _is_possible(value: float) -> bool:
    """Finite, and a whole number within the 64 bits that TOML promises."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


def _is_within(value: float, bounds: Bounds) -> bool:
    return (
        (bounds.at_least is None or value >= bounds.at_least)
        and (bounds.above is None or value > bounds.above)
        and (bounds.at_most is None or value <= bounds.at_most)
        and (bounds.below is None or value < bounds.below)
    )
