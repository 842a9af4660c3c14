"""Tables, sentences and warnings on a terminal, or as plain text where there is none.

A table that is too wide is not folded: its rows are written one below the other, a line a column.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from scalerl.report.table import Table

WIDTH_OF_A_FILE = 120  # where nothing says how wide the reader's screen is
WIDEST_TEXT = 100  # lines of prose longer than this are hard to read
_BETWEEN = 2  # blanks between two columns
_MARGIN = 2  # blanks around a table, in all


def console() -> Console:
    """Standard output, as wide as it is."""
    found = Console(highlight=False, markup=False, emoji=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        return Console(highlight=False, markup=False, emoji=False, width=WIDTH_OF_A_FILE)
    return found


def show_headline(out: Console, sentence: str) -> None:
    """Print what a busy person reads, in bold."""
    out.print(Text(_wrapped(sentence, out, hanging="  "), style="bold"), soft_wrap=True)


def show_table(out: Console, table: Table) -> None:
    """Print a table, its notes below it; columns that are empty in every row are left out."""
    if not table.rows:
        return
    widths = _widths(table, out.width)
    if widths is None:
        _show_rows(out, table)
    else:
        out.print(Padding(_across(table, widths), (0, 0, 0, 0)))
    for note in table.notes:
        out.print(Text(_wrapped(note, out, first="  ", hanging="  "), style="dim"), soft_wrap=True)


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


def _widths(table: Table, available: int) -> list[int] | None:
    """How wide each column is: titles may be folded between words, cells may not; None where that is too wide."""
    titles = [column.title for column in table.columns]
    columns = list(zip(*table.texts, strict=True))
    widths = [
        max(len(part) for part in (*title.split(), *cells)) for title, cells in zip(titles, columns, strict=True)
    ]
    left = available - _MARGIN - sum(widths) - _BETWEEN * (len(widths) - 1)
    if left < 0:
        return None
    for at, title in enumerate(titles):
        more = min(left, max(0, len(title) - widths[at]))
        widths[at], left = widths[at] + more, left - more
    return widths


def _across(table: Table, widths: Sequence[int]) -> RichTable:
    shown = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=True, padding=(0, 1), header_style="bold")
    for column, width in zip(table.columns, widths, strict=True):
        shown.add_column(Text(column.title), justify=column.align, vertical="bottom", width=width, no_wrap=False)
    for row in table.texts:
        shown.add_row(*(Text(text) for text in row))
    return shown


def _show_rows(out: Console, table: Table) -> None:
    """One line a column; rows of several are told apart by a blank line."""
    width = max(len(column.title) for column in table.columns)
    for at, row in enumerate(table.texts):
        if at:
            out.print()
        for column, text in zip(table.columns, row, strict=True):
            out.print(Text(f"  {column.title:<{width}}  ", style="dim").append(text, style="none"), soft_wrap=True)
