"""The page of all knobs, made from the dataclasses: `python -m scalerl.recipe.knobs > docs/knobs.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from scalerl.recipe.expected import bounds_in_words, type_in_words
from scalerl.recipe.keys import Key, is_section, item_section, keys_of, kinds_of
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.toml_value import toml_value

_INTRODUCTION = """\
# Every knob

Made from the dataclasses of `src/scalerl/recipe/` by `python -m scalerl.recipe.knobs > docs/knobs.md`.

A recipe is a TOML file. What it does not state is as in the tables below, which is the ScaleRL recipe, or with
`extends = "dapo"` (a shipped recipe, or a path relative to the file) as it is there; `--set loss.cap=8` goes
over both.

- In `loss`, `length` and `task` the keys belong to the kind: stating another kind starts the section anew.
- Lists and free tables of options are replaced whole; `--set task.options.x=1` adds to such a table.
- Relative paths are relative to the file that states them, after `--set` to the current folder.
- Unknown keys, wrong types and values out of bounds are errors.
"""
_HEAD = ("| key | type | default | bounds | what it does |", "|---|---|---|---|---|")


def knobs_page() -> str:
    """All keys of a recipe as Markdown, a table for each section and each kind."""
    lines = [_INTRODUCTION, "## Top level", "", *_table(Recipe, "")]
    for key in keys_of(Recipe).values():
        lines += list(_chapter(key))
    return "\n".join(lines) + "\n"


def _chapter(key: Key) -> Iterator[str]:
    """A section with its kinds; nothing for a key that is a single value."""
    if is_section(key.type):
        yield from ("", f"## {key.name}", "", _sentence(key.type), "", *_table(key.type, f"{key.name}."))
    for index, (kind, section) in enumerate(kinds_of(key.type).items()):
        if index == 0:
            yield from ("", f"## {key.name}", "", key.doc)
        default = " (default)" if isinstance(key.default, section) else ""
        yield from ("", f'### {key.name}.kind = "{kind}"{default}', "", _sentence(section))
        yield from _table(section, f"{key.name}.", spaced=True)
        for one in keys_of(section).values():
            if item := item_section(one.type):
                yield from _items(f"{key.name}.{one.name}", item)


def _items(name: str, section: type) -> Iterator[str]:
    yield from ("", f"Each `[[{name}]]`:", "", *_table(section, "", with_kinds=True))


def _table(section: type, above: str, *, spaced: bool = False, with_kinds: bool = False) -> list[str]:
    """Rows of the single values of a section; nothing at all where it has none."""
    rows = [_row(key, above) for key in keys_of(section).values() if _is_row(key, with_kinds)]
    return [*([""] if spaced else []), *_HEAD, *rows] if rows else []


def _is_row(key: Key, with_kinds: bool) -> bool:
    # The kind of a section with kinds stands in its heading.
    is_fixed = get_origin(key.type) is Literal and key.name == "kind" and not key.doc
    return not is_fixed and not is_section(key.type) and (with_kinds or not kinds_of(key.type))


def _row(key: Key, above: str) -> str:
    default = '`kind = "' + key.default.kind + '"`' if kinds_of(key.type) else f"`{toml_value(key.default)}`"
    cells = (f"`{above}{key.name}`", _type(key), default, bounds_in_words(key.bounds), key.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _type(key: Key) -> str:
    if get_origin(key.type) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(key.type))
    if kinds := kinds_of(key.type):
        return "section: " + ", ".join(f"`{one}`" for one in kinds)
    return type_in_words(key.type).partition(", such as")[0].removeprefix("a ")


def _sentence(section: type) -> str:
    return str(section.__doc__).splitlines()[0]


if __name__ == "__main__":
    sys.stdout.write(knobs_page())
