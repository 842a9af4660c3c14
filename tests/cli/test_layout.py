"""How a table is laid out: across, with intervals below, or row by row."""

import pytest

from scalerl.report.table import Cell, Column, Table
from scalerl.report.terminal import console, show_headline, show_table, show_warnings

COLUMNS = tuple(Column(title=title, fields=("field",)) for title in ("Run", "Ceiling reached", "Midpoint"))


def table(*rows: tuple[str, ...]) -> Table:
    cells = tuple(tuple(Cell(text=text, numbers=(None,)) for text in row) for row in rows)
    return Table(title="Fits", columns=COLUMNS, rows=cells, notes=("Mind the gap.",))


TWO = table(("a", "0.612 (0.58-0.64)", "961 (908-1,010)"), ("long-name", "0.5 (0.4-0.6)", "12 (1-20)"))


@pytest.fixture
def shown(capsys, monkeypatch):
    def show(width, what, *arguments) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        what(console(), *arguments)
        return capsys.readouterr().out

    return show


def test_across_where_it_fits(shown):
    assert shown(80, show_table, TWO).splitlines() == [
        "        Run    Ceiling reached         Midpoint".rstrip(),
        "  ─────────  ─────────────────  ───────────────",
        "          a  0.612 (0.58-0.64)  961 (908-1,010)",
        "  long-name      0.5 (0.4-0.6)        12 (1-20)",
        "  Mind the gap.",
    ]


def test_intervals_below_where_that_fits(shown):
    assert shown(40, show_table, TWO).splitlines() == [
        "                 Ceiling",
        "        Run      reached     Midpoint",
        "  ─────────  ───────────  ───────────",
        "          a        0.612          961",
        "             (0.58-0.64)  (908-1,010)",
        "  long-name          0.5           12",
        "               (0.4-0.6)       (1-20)",
        "  Mind the gap.",
    ]


def test_row_by_row_where_nothing_else_fits(shown):
    assert shown(36, show_table, TWO).splitlines()[:5] == [
        "  Run              a",
        "  Ceiling reached  0.612 (0.58-0.64)",
        "  Midpoint         961 (908-1,010)",
        "",
        "  Run              long-name",
    ]


def test_a_single_row_takes_no_second_line(shown):
    one = table(("a", "0.612 (0.58-0.64)", "961 (908-1,010)"))
    assert shown(40, show_table, one).startswith("  Run              a\n")


def test_words_are_not_read_as_markup(shown):
    assert shown(80, show_headline, "run [maths] is :fire:") == "run [maths] is :fire:\n"


def test_warnings_that_all_share_are_told_once(shown):
    told = shown(80, show_warnings, {"a": ("noisy", "short"), "b": ("noisy",)})
    assert told == "\nWarnings\n  - noisy\n  - a: short\n"
    assert shown(80, show_warnings, {"a": ()}) == ""
