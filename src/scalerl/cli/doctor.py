"""`scalerl doctor`: what this machine can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.cli.machine import Found, Part

EXAMPLE = "Example: scalerl doctor --needs gpu,sandbox"
NAME, STATE = 15, 9
"""Widths of the first two columns."""


def doctor(
    *,
    needs: Annotated[
        list[str] | None,
        Option("--needs", metavar="NAME,...", help="End with exit code 2 unless all of these are there."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line instead.")] = False,
) -> None:
    """Tell what this machine has, what that enables, and how to get what is missing."""
    from scalerl.cli.machine import parts

    every = parts()
    needed = _needed(needs or [], [part.name for part in every])
    found = [(part, part.look()) for part in every]
    if as_json:
        _print_json(found)
    else:
        _print(found)
    if missing := [f"{part.name} ({one.words})" for part, one in found if part.name in needed and not one.is_there]:
        raise InputError(f"--needs what is not there: {'; '.join(missing)}")


def _needed(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    needed = [one.strip() for text in texts for one in text.split(",")]
    for name in needed:
        if name not in names:
            raise InputError(f"--needs is {name!r}; expected some of {', '.join(names)}")
    return needed


def _print_json(found: Sequence[tuple[Part, Found]]) -> None:
    import json

    for part, one in found:
        record = {"name": part.name, "is_there": one.is_there, "words": one.words, "enables": part.enables}
        print(json.dumps(record))


def _print(found: Sequence[tuple[Part, Found]]) -> None:
    import textwrap

    from rich.text import Text

    from scalerl.report.terminal import WIDEST_TEXT, console

    out = console()
    room = min(out.width, WIDEST_TEXT) - NAME - STATE
    for part, one in found:
        state, style = ("ok", "green") if one.is_there else ("missing", "yellow")
        enables = f"{'for' if one.is_there else 'would enable'} {part.enables}" if part.enables else ""
        words = " · ".join(words for words in (one.words, enables) if words)
        for number, line in enumerate(textwrap.wrap(words, room, break_on_hyphens=False)):
            first = number == 0
            before = Text(f"{part.name if first else '':<{NAME}}", style="bold")
            before.append(f"{state if first else '':<{STATE}}", style=f"not bold {style}")
            out.print(before.append(line, style="not bold"), soft_wrap=True)
