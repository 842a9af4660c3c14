"""Overrides of the command line, `--set a.b=c`, as one layer of stated keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from scalerl.errors import InputError
from scalerl.recipe.words import Words


def layer_of(overrides: Sequence[str]) -> dict[str, Any]:
    """All overrides together, so that their order does not matter; of one key stated twice the last counts."""
    layer: dict[str, Any] = {}
    for override in overrides:
        *above, name = _names(override)
        table = layer
        for part in above:
            table = cast("dict[str, Any]", table.setdefault(part, {}))
            if isinstance(table, Words):
                raise _twice(override)
        if isinstance(table.get(name), dict):
            raise _twice(override)
        table[name] = Words(override.partition("=")[2].strip())
    return layer


def _names(override: str) -> list[str]:
    key, equals, _ = override.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names):
        raise InputError(
            f"{override!r} is no override; expected KEY=VALUE, as in --set loss.kind=dapo", file="--set"
        )
    return names


def _twice(override: str) -> InputError:
    return InputError(
        f"{override} states a table that another --set states too; expected one of them", file="--set"
    )
