"""Recipes from TOML: strict, with `extends` and overrides of single keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.recipe.checks import check
from scalerl.recipe.merging import built, merged
from scalerl.recipe.named import names, path_of
from scalerl.recipe.overrides import layer_of
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.values import wrong
from scalerl.recipe.where import Where

Layer = tuple[Mapping[str, Any], Where]


def load(source: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of a TOML file or of a shipped name, with overrides such as `loss.cap=8` on top.

    A name wins over a file that is called the same: write `./demo` for such a file.
    """
    file = _located(str(source), Path())
    layers = [*_file_layers(file, ()), (layer_of(overrides), Where.command())]
    return _recipe(layers, f"{file} with --set" if overrides else str(file))


def from_mapping(mapping: Mapping[str, Any], file: str | Path | None = None) -> Recipe:
    """The recipe of a mapping as tomllib gives it; relative paths are left alone where no file is named."""
    label, folder = (None, None) if file is None else (str(file), Path(file).parent)
    return _recipe(_layers(mapping, Where(label=label, folder=folder), ()), label)


def _recipe(layers: Iterable[Layer], label: str | None) -> Recipe:
    stated: dict[str, Any] = {}
    for layer, where in layers:
        stated = merged(Recipe, stated, layer, where)
    recipe = built(Recipe, stated)
    check(recipe, file=label)
    return recipe


def _file_layers(file: Path, below: tuple[Path, ...]) -> list[Layer]:
    """The layers of a file, what it extends first; `below` are the files that led here."""
    text = _text(file)
    return _layers(
        _parsed(text, file), Where(label=str(file), text=text, folder=file.parent), (*below, file.resolve())
    )


def _layers(mapping: Mapping[str, Any], where: Where, below: tuple[Path, ...]) -> list[Layer]:
    own = {name: value for name, value in mapping.items() if name != "extends"}
    if "extends" not in mapping:
        return [(own, where)]
    parent, here = mapping["extends"], where.at("extends")
    if not isinstance(parent, str) or not parent:
        raise wrong(parent, "the name of a shipped recipe or the path of a TOML file", here)
    file = _located(parent, where.folder or Path(), here)
    if file.resolve() in below:
        circle = " -> ".join(one.name for one in (*below[below.index(file.resolve()) :], file))
        raise here.error(f"extends goes in a circle: {circle}")
    return [*_file_layers(file, below), (own, where)]


def _located(source: str, folder: Path, where: Where | None = None) -> Path:
    if source in names():
        return path_of(source)
    file = folder / source
    if file.is_file():
        return file
    what = "is a folder" if file.is_dir() else "is not there"
    key = "" if where is None else "extends: "
    message = f"{key}{file} {what}; expected a TOML file or a shipped recipe: {', '.join(names())}"
    raise InputError(message) if where is None else where.error(message)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text; expected a TOML file", file=file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, line = _syntax(str(error), text)
        raise InputError(f"not valid TOML: {what}", file=file, line=line) from None
    except RecursionError:
        raise InputError("not valid TOML: nested too deeply", file=file) from None


def _syntax(message: str, text: str) -> tuple[str, int]:
    """The complaint of tomllib and its line, which only its message tells."""
    what, _, place = message.rpartition(" (at ")
    found = re.search(r"line (\d+)", place)
    return what or message, int(found[1]) if found else text.rstrip("\n").count("\n") + 1
