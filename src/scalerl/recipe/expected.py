"""What a key can hold, in words for messages and for the page of knobs."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from scalerl.recipe.keys import item_section
from scalerl.recipe.knob import Bounds
from scalerl.recipe.toml_value import toml_value

_ONE = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
_SEVERAL = {int: "whole numbers", float: "numbers", str: "strings"}
_EXAMPLES = {int: [1, 2], float: [0.5, 0.9], str: ["a", "b"]}


def type_in_words(annotation: Any) -> str:  # noqa: ANN401 - a type as the typing module has it
    """A type in words.

    >>> type_in_words(tuple[int, int])
    'a list of 2 whole numbers, such as [1, 2]'
    """
    if annotation in _ONE:
        return _ONE[annotation]
    if get_origin(annotation) is Literal:
        return choices_in_words(get_args(annotation))
    if item_section(annotation):
        return "a list of tables"
    return _list_in_words(annotation) if get_origin(annotation) is tuple else "a table"


def choices_in_words(choices: tuple[str, ...]) -> str:
    """All values there are; a choice of one is no choice."""
    return ("one of " if len(choices) > 1 else "") + ", ".join(toml_value(one) for one in choices)


def bounds_in_words(bounds: Bounds) -> str:
    """Bounds as in `above 0, at most 1`; empty where there are none."""
    limits = {
        "at least": bounds.at_least,
        "above": bounds.above,
        "at most": bounds.at_most,
        "below": bounds.below,
    }
    return ", ".join(f"{name} {limit:g}" for name, limit in limits.items() if limit is not None)


def _list_in_words(annotation: Any) -> str:  # noqa: ANN401
    items = get_args(annotation)
    count = "" if items[-1] is Ellipsis else f"{len(items)} "
    return f"a list of {count}{_SEVERAL[items[0]]}, such as {toml_value(_EXAMPLES[items[0]])}"
