"""Values as TOML writes them: for files, for messages, for comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from scalerl.errors import InputError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def toml_value(value: Any) -> str:  # noqa: ANN401 - recipes hold values of any type
    r"""One line of TOML that reads back as the same value.

    >>> print(toml_value({"rate": 5e-07, "names": ("a", 'b"')}))
    {rate = 5e-07, names = ["a", "b\""]}
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        return "{" + ", ".join(f"{toml_key(name)} = {toml_value(one)}" for name, one in pairs.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml_value(one) for one in cast("Sequence[Any]", value)) + "]"
    raise InputError(f"a recipe holds {value!r}; expected strings, numbers, true or false, lists and tables only")


def toml_string(text: str) -> str:
    """Text in quotes; what TOML forbids inside them is escaped, so that it stays on one line."""
    return '"' + "".join(_escaped(one) for one in text) + '"'


def toml_key(name: str) -> str:
    """The name of a key, in quotes where it needs them."""
    return name if _BARE_KEY.fullmatch(name) else toml_string(name)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    is_control = ord(character) < 0x20 or ord(character) == 0x7F
    return f"\\u{ord(character):04x}" if is_control else character
