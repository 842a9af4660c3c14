"""Where an answer goes: the terminal, lines of JSON, files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.cli.answer import Answer

FIGURES = (".png", ".svg")
TABLES = (".md", ".tex", ".csv")
MOST_FILES = 100  # that one command writes under numbered names
_PANEL = "Output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where to put the answer."""

    figure: Annotated[
        str | None, Option("--figure", metavar="OUT", help="Also draw it: .png or .svg.", rich_help_panel=_PANEL)
    ] = None
    table: Annotated[
        str | None,
        Option("--table", metavar="OUT", help="Also write it: .md, .tex or .csv.", rich_help_panel=_PANEL),
    ] = None
    as_json: Annotated[
        bool, Option("--json", help="Print one JSON object a line instead.", rich_help_panel=_PANEL)
    ] = False

    def check(self, inputs: Sequence[str]) -> None:
        """Refuse files that could not be written, or that are read, before the work begins."""
        for option, path, suffixes in (("--figure", self.figure, FIGURES), ("--table", self.table, TABLES)):
            if path is not None:
                writable(option, path, suffixes)
                keep_inputs(option, numbered(path, MOST_FILES), inputs)

    def give(self, answer: Answer) -> None:
        """Write the files that were asked for, then print."""
        self._write(answer)
        if self.as_json:
            from scalerl.cli.as_json import line

            for record in answer.records:
                print(line(record))
        else:
            show(answer)

    def _write(self, answer: Answer) -> None:
        if self.table is not None:
            from scalerl.report.table_files import write_table

            for path, table in zip(numbered(self.table, len(answer.tables)), answer.tables, strict=True):
                write_table(table, path)
                note(f"wrote {path}")
        if self.figure is not None:
            from scalerl.report.figure_files import save

            for path, draw in zip(numbered(self.figure, len(answer.figures)), answer.figures, strict=True):
                save(draw(), path)
                note(f"wrote {path}")


def show(answer: Answer) -> None:
    """Print an answer for a person."""
    from scalerl.report.terminal import console, show_headline, show_table, show_title, show_warnings

    out = console()
    for headline in answer.headlines:
        show_headline(out, *headline)
    told: set[str] = set()
    for table in answer.tables:
        show_title(out, table.title if len(answer.tables) > 1 else "")
        notes = tuple(words for words in table.notes if words not in told)
        told.update(notes)
        show_table(out, replace(table.without("Run") if len(answer.warnings) == 1 else table, notes=notes))
    show_warnings(out, answer.warnings)


def note(words: str) -> None:
    """Say something beside the answer."""
    print(words, file=sys.stderr)


def writable(option: str, path: str, suffixes: tuple[str, ...]) -> Path:
    """The path to write to, or a refusal of one that could not be written after minutes of work."""
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        raise InputError(f"{option} is {path!r}; expected a name that ends in {' or '.join(suffixes)}")
    if not found.parent.is_dir():
        raise InputError(f"{option} is {path!r}; there is no folder {str(found.parent)!r}")
    if found.is_dir() or not os.access(found.parent, os.W_OK):
        raise InputError(f"{option} is {path!r}, which cannot be written; expected a file in a folder of yours")
    return found


def keep_inputs(option: str, outputs: Sequence[Path], inputs: Sequence[str]) -> None:
    """Refuse to write over a file that is read."""
    read = {Path(file).resolve() for file in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise InputError(f"{option} would write over {str(path)!r}, which is read; expected another name")


def numbered(path: str, count: int) -> list[Path]:
    """One path for each of several files.

    >>> [str(path) for path in numbered("out/fit.png", 3)]
    ['out/fit.png', 'out/fit-2.png', 'out/fit-3.png']
    """
    first = Path(path)
    return [first, *(first.with_stem(f"{first.stem}-{at}") for at in range(2, count + 1))][:count]
