"""Tables, sentences and warnings on a terminal, or as plain text where there is none.

A table that is too wide is not folded: its rows are written one below the other, a line a column.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from scalerl.report.table import Table

WIDTH_OF_A_FILE = 120  # where nothing says how wide the reader's screen is
WIDEST_TEXT = 100  # lines of prose longer than this are hard to read
_GAP = "  "  # before every column

Cells: TypeAlias = list[list[list[str]]]
"""The lines of each cell of each row."""


def console() -> Console:
    """Standard output, as wide as it is."""
    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        return Console(highlight=False, markup=False, emoji=False, width=WIDTH_OF_A_FILE)
    return found


def show_headline(out: Console, sentence: str, *more: str) -> None:
    """Print what a busy person reads, in bold, and below it what else there is to say."""
    out.print(Text(_wrapped(sentence, out, hanging=_GAP), style="bold"), soft_wrap=True)
    if more:
        out.print(Text(_wrapped(" ".join(more), out, first=_GAP, hanging=_GAP)), soft_wrap=True)


def show_title(out: Console, title: str) -> None:
    """Print what the next table is about, after a blank line."""
    out.print()
    if title:
        out.print(Text(title, style="bold"))


def show_table(out: Console, table: Table) -> None:
    """Print a table and its notes: across if it fits, else with intervals on a second line, else row by row.

    A single row is not worth a second line.
    """
    cells = [[[text] for text in row] for row in table.texts]
    folded = [[text.replace(" (", "\n(").split("\n") for text in row] for row in table.texts]
    for layout in (cells, folded) if len(cells) > 1 else (cells,):
        widths = _widths(table, layout)
        if sum(widths) + len(_GAP) * len(widths) <= out.width:
            _show_across(out, table, layout, widths)
            break
    else:
        _show_down(out, table)
    for note in table.notes:
        out.print(Text(_wrapped(note, out, first=_GAP, hanging=_GAP), style="dim"), soft_wrap=True)


def show_warnings(out: Console, warnings: Mapping[str, Sequence[str]]) -> None:
    """Print the warnings of each run, those that all share once."""
    told = {name: words for name, words in warnings.items() if words}
    if not told:
        return
    out.print()
    out.print(Text("Warnings", style="bold yellow"))
    shared = [word for word in next(iter(warnings.values())) if all(word in words for words in warnings.values())]
    for word in shared:
        _show_bullet(out, word)
    for name, words in told.items():
        for word in words:
            if word not in shared:
                _show_bullet(out, f"{name}: {word}" if len(warnings) > 1 else word)


def _show_bullet(out: Console, words: str) -> None:
    out.print(Text(_wrapped(words, out, first="  - ", hanging="    "), style="yellow"), soft_wrap=True)


def _wrapped(words: str, out: Console, *, first: str = "", hanging: str = "") -> str:
    return textwrap.fill(
        words,
        width=min(out.width, WIDEST_TEXT),
        initial_indent=first,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _widths(table: Table, rows: Cells) -> list[int]:
    """How wide each column must be; its title is folded between words."""
    return [
        max(len(part) for part in (*column.title.split(), *(line for row in rows for line in row[at])))
        for at, column in enumerate(table.columns)
    ]


def _show_across(out: Console, table: Table, rows: Cells, widths: Sequence[int]) -> None:
    spare = out.width - sum(widths) - len(_GAP) * len(widths)
    widths = _widened(widths, [len(column.title) for column in table.columns], spare)
    titles = [
        textwrap.wrap(column.title, width, break_on_hyphens=False)
        for column, width in zip(table.columns, widths, strict=True)
    ]
    height = max(len(title) for title in titles)
    _show_line(out, table, [[""] * (height - len(title)) + title for title in titles], widths, "bold")
    out.print(Text(_GAP + _GAP.join("─" * width for width in widths), style="dim"), soft_wrap=True)
    for row in rows:
        _show_line(out, table, row, widths, "")


def _widened(widths: Sequence[int], wanted: Sequence[int], spare: int) -> list[int]:
    """Give room that is to spare to titles that would be folded."""
    found = list(widths)
    for at, want in enumerate(wanted):
        more = max(0, want - found[at])
        if more <= spare:
            found[at], spare = found[at] + more, spare - more
    return found


def _show_line(out: Console, table: Table, cells: Sequence[list[str]], widths: Sequence[int], style: str) -> None:
    for at in range(max(len(cell) for cell in cells)):
        parts = [cell[at] if at < len(cell) else "" for cell in cells]
        aligned = [
            part.ljust(width) if column.align == "left" else part.rjust(width)
            for part, column, width in zip(parts, table.columns, widths, strict=True)
        ]
        out.print(Text((_GAP + _GAP.join(aligned)).rstrip(), style=style), soft_wrap=True)


def _show_down(out: Console, table: Table) -> None:
    """One line a column; a blank line between rows."""
    width = max(len(column.title) for column in table.columns)
    for at, row in enumerate(table.texts):
        if at:
            out.print()
        for column, text in zip(table.columns, row, strict=True):
            out.print(
                Text(f"{_GAP}{column.title:<{width}}{_GAP}", style="dim").append(text, style="not dim"),
                soft_wrap=True,
            )
