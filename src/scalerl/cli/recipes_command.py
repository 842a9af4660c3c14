"""`scalerl recipes`: which recipes there are, and what each of them says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from scalerl.errors import InputError

EXAMPLE = "Example: scalerl recipes dapo > mine.toml"
REFERENCE = "scalerl"
INDENT = 11


def recipes(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="Print this recipe, every key of it.", show_default=False)
    ] = None,
    *,
    knobs: Annotated[bool, Option("--knobs", help="Print the page of all knobs, as Markdown.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line instead.")] = False,
) -> None:
    """List the recipes that are shipped, or print one of them."""
    if knobs:
        if name is not None:
            raise InputError("--knobs prints the knobs of all recipes; expected no name beside it")
        from scalerl.recipe.knobs import knobs_page

        sys.stdout.write(knobs_page())
    elif name is not None:
        _print(name)
    else:
        _list(as_json=as_json)


def _print(name: str) -> None:
    from scalerl.recipe.reading import load
    from scalerl.recipe.writing import to_toml

    sys.stdout.write(to_toml(load(name)))


def _list(*, as_json: bool) -> None:
    from scalerl.recipe.differences import differences
    from scalerl.recipe.named import names
    from scalerl.recipe.reading import load

    reference = load(REFERENCE)
    for name in names():
        found = differences(reference, load(name))
        if as_json:
            from scalerl.cli.as_json import line

            print(line({"name": name, "about": _about(name), "differences": found}))
        else:
            _show(name, _about(name), found)


def _show(name: str, about: str, found: Sequence[str]) -> None:
    import textwrap

    from rich.text import Text

    from scalerl.report.terminal import WIDEST_TEXT, console

    out = console()
    room = min(out.width, WIDEST_TEXT) - INDENT
    for number, line in enumerate(textwrap.wrap(about, room, break_on_hyphens=False)):
        before = Text(f"{name if number == 0 else '':<{INDENT}}", style="bold")
        out.print(before.append(line, style="not bold"), soft_wrap=True)
    for line in textwrap.wrap(_changes(found), room, break_on_hyphens=False):
        out.print(Text(" " * INDENT + line, style="dim"), soft_wrap=True)


def _changes(found: Sequence[str]) -> str:
    """What the keys are instead; of keys that another kind has no use for, nothing.

    >>> _changes(["batch.prompts: 48 -> 80", "loss.cap: 5.0 -> none"])
    'batch.prompts=80'
    """
    parts = [one.partition(": ") for one in found]
    now = [(key, change.rpartition(" -> ")[2]) for key, _, change in parts]
    return ", ".join(f"{key}={value}" for key, value in now if value != "none")


def _about(name: str) -> str:
    """The comment that the file of a recipe begins with."""
    from scalerl.recipe.named import path_of

    return path_of(name).read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
