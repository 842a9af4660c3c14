"""Layers of stated keys, one over the other, into a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_origin

from scalerl.recipe.keys import Key, is_section, item_section, keys_of, kinds_of
from scalerl.recipe.paths import absolute, is_path
from scalerl.recipe.unknown import unknown_key
from scalerl.recipe.values import converted, one_of, plain, wrong
from scalerl.recipe.where import Where
from scalerl.recipe.words import Words

Stated = Mapping[str, Any]
Section = TypeVar("Section")
_NO_KINDS: Mapping[str, type] = {}


def merged(
    section: type, before: Stated, layer: Stated, where: Where, kinds: Mapping[str, type] = _NO_KINDS
) -> dict[str, Any]:
    """What was stated before with a layer on top; every key of the layer is checked.

    Lists and tables that are passed on as they are count as one value: a layer replaces them whole.
    """
    result = dict(before)
    for name, value in layer.items():
        here = where.at(name)
        key = keys_of(section).get(name)
        if key is None:
            raise unknown_key(section, kinds, here)
        result[name] = _stated(key, before.get(name), value, here)
        if is_path(section, name):
            result[name] = absolute(section, result[name], here)
    return result


def built(section: type[Section], stated: Stated) -> Section:
    """The section with what was stated; the dataclass knows the rest."""
    keys = keys_of(section)
    return section(**{name: _built(keys[name].type, value) for name, value in stated.items()})


def _stated(key: Key, before: Any, value: Any, where: Where) -> Any:  # noqa: ANN401 - values of any type
    if is_section(key.type):
        return merged(key.type, before or {}, _table(value, where), where)
    if kinds_of(key.type):
        return _of_kind(key, before or {}, _table(value, where), where)
    if item := item_section(key.type):
        return _items(item, value, where)
    if get_origin(key.type) is dict:
        return _passed_on(before or {}, value, where)
    return converted(value, key, where)


def _of_kind(key: Key, before: Stated, layer: Stated, where: Where) -> dict[str, Any]:
    """Keys belong to a kind: another kind starts the section anew."""
    kinds = kinds_of(key.type)
    was = kind = before.get("kind", key.default.kind)
    if "kind" in layer:
        kind = one_of(layer["kind"], tuple(kinds), where.at("kind"))
    rest = {name: value for name, value in layer.items() if name != "kind"}
    return {"kind": kind} | merged(kinds[kind], before if kind == was else {}, rest, where, kinds)


def _items(section: type, value: Any, where: Where) -> list[dict[str, Any]]:  # noqa: ANN401
    found = value.as_toml() if isinstance(value, Words) else value
    if not isinstance(found, list):
        raise wrong(value, f"a list of tables [[{where.dotted}]], stated whole", where)
    tables = enumerate(cast("list[Any]", found))
    return [merged(section, {}, _table(one, where.at(index)), where.at(index)) for index, one in tables]


def _passed_on(before: Stated, value: Any, where: Where) -> dict[str, Any]:  # noqa: ANN401
    """A free table: stated whole, or key by key on the command line."""
    found = value.as_toml() if isinstance(value, Words) else value
    if not isinstance(found, Mapping):
        raise wrong(value, f"a table [{where.dotted}]", where)
    table = cast("Stated", found)
    if isinstance(value, Words) or not where.is_command:
        return plain(table, where)
    for name, one in table.items():
        if isinstance(one, Mapping):
            here = where.at(name).dotted
            raise where.error(f"{here} can only be set whole, as in --set '{here}={{a = 1}}'")
    return {**before, **plain(table, where)}


def _table(value: Any, where: Where) -> Stated:  # noqa: ANN401
    if isinstance(value, Words):
        raise where.error(
            f"{where.dotted} is a section; set its keys one by one, as in --set {where.dotted}.KEY=VALUE"
        )
    if not isinstance(value, Mapping):
        raise wrong(value, f"a table [{where.dotted}]", where)
    return cast("Stated", value)


def _built(annotation: Any, value: Any) -> Any:  # noqa: ANN401
    if is_section(annotation):
        return built(annotation, value)
    if kinds := kinds_of(annotation):
        return built(kinds[value["kind"]], value)
    if item := item_section(annotation):
        return tuple(built(item, one) for one in value)
    return value
