"""A table before it is written anywhere: what people read in each cell, and the full numbers behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from scalerl.scaling.estimate import Estimate
from scalerl.scaling.number_text import UNKNOWN, compute_interval_text, compute_text, with_interval

Number: TypeAlias = str | float | None
"""What a CSV file holds in one field: words, a number at full precision, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading, the names of the CSV fields behind it, and the symbol that stands for it in a paper."""

    title: str
    fields: tuple[str, ...]
    symbol: str | None = None
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What people read, and one number for each field of the column."""

    text: str
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under columns, with a title and notes in words."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row) == len(self.columns), "a row has one cell a column"
            for cell, column in zip(row, self.columns, strict=True):
                assert len(cell.numbers) == len(column.fields), f"{column.title}: one number a field"

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """What people read, row by row."""
        return tuple(tuple(cell.text for cell in row) for row in self.rows)

    def without(self, title: str) -> Table:
        """Leave out a column."""
        kept = [at for at, column in enumerate(self.columns) if column.title != title]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
        )


def words_column(title: str, *fields: str) -> Column:
    """A column of words."""
    return Column(title=title, fields=fields, align="left")


def number_column(title: str, field: str, *, symbol: str | None = None) -> Column:
    """A column of single numbers."""
    return Column(title=title, fields=(field,), symbol=symbol)


def estimate_column(title: str, field: str, *, symbol: str | None = None) -> Column:
    """A column of numbers with their intervals."""
    return Column(title=title, fields=(field, f"{field}_low", f"{field}_high"), symbol=symbol)


def words(text: str, *numbers: Number) -> Cell:
    """A cell of words; the CSV file holds the same unless told."""
    return Cell(text=text, numbers=numbers or (text,))


def number(value: float | None, text: Callable[[float], str]) -> Cell:
    """A cell of one number, None where it is not known."""
    return Cell(text=UNKNOWN if value is None else text(value), numbers=(value,))


def estimated(value: Estimate | None, text: Callable[[float], str]) -> Cell:
    """A cell of a number with its interval, None where it is not known."""
    if value is None:
        return Cell(text=UNKNOWN, numbers=(None, None, None))
    return Cell(text=with_interval(value, text), numbers=(value.value, value.low, value.high))


def reached(compute: float | None, low: float | None, high: float | None) -> Cell:
    """A cell of a compute with its interval, None for never."""
    interval = compute_interval_text(low, high)
    text = compute_text(compute) if interval == compute_text(compute) else f"{compute_text(compute)} ({interval})"
    return Cell(text=text, numbers=(compute, low, high))
