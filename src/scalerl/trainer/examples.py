"""Worked solutions from a file to examples of a warm start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.records import Prompt
from scalerl.tasks.dataset import Row, rows
from scalerl.trainer.warmstart import Example


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """Where in a row question, solution and answer stand."""

    question: str = "question"
    solution: str = "solution"
    answer: str = ""
    """What follows the closing tag, where the solution is the thinking alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What an example looks like."""

    open: str
    """What every answer begins with; it belongs to the prompt."""
    close: str
    """The tag that ends thinking; empty where there is none."""
    max_tokens: int
    """Longest example, prompt and answer together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Worked:
    """Examples, and how many were too long to be one."""

    examples: tuple[Example, ...]
    num_too_long: int


def read_worked(
    path: str,
    columns: Columns,
    form: Form,
    ask: Callable[[Prompt], NDArray[np.int32]],
    write: Callable[[str], NDArray[np.int32]],
) -> Worked:
    """Read every worked solution of a file; `ask` and `write` make tokens of a prompt and of what should follow."""
    examples: list[Example] = []
    num_rows = 0
    for row in rows(path, [one for one in (columns.question, columns.solution, columns.answer) if one]):
        num_rows += 1
        prompt = Prompt(id=f"line {row.line}", task="", text=_text(row, columns.question), answer=None)
        one = Example(prompt=ask(prompt), answer=write(_solution(row, columns, form)))
        if len(one.prompt) + len(one.answer) <= form.max_tokens:
            examples.append(one)
    if not num_rows:
        raise InputError("holds no worked solutions", file=path)
    if not examples:
        message = f"none of {num_rows} examples has at most --max-tokens = {form.max_tokens} tokens"
        raise InputError(message, file=path)
    return Worked(examples=tuple(examples), num_too_long=num_rows - len(examples))


def batches(examples: Sequence[Example], *, size: int, epochs: int, seed: int) -> Iterator[Sequence[Example]]:
    """Every example once an epoch, in a fresh order each time; the last batch of an epoch may be smaller."""
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(examples))
        for start in range(0, len(order), size):
            yield [examples[index] for index in order[start : start + size]]


def num_batches(num_examples: int, *, size: int, epochs: int) -> int:
    """How many batches that makes.

    >>> num_batches(10, size=4, epochs=2)
    6
    """
    return epochs * -(-num_examples // size)


def _solution(row: Row, columns: Columns, form: Form) -> str:
    text = _text(row, columns.solution).removeprefix(form.open).lstrip()
    if columns.answer:
        return f"{text}\n{form.close}\n{_text(row, columns.answer)}"
    if form.close and form.close not in text:
        message = f"has no {form.close!r} in {columns.solution!r}, so thinking would never end"
        advice = "name the column of the final answer with --answer, or --think-close '' for a model without tags"
        raise InputError(f"{message}; {advice}", file=row.file, line=row.line)
    return text


def _text(row: Row, column: str) -> str:
    match row.cells.get(column):
        case str() as text if text.strip():
            return text.strip()
        case None:
            there = ", ".join(row.cells)
            raise InputError(f"has no {column!r}; it has {there}", file=row.file, line=row.line)
        case int() | float() as number if not isinstance(number, bool):
            return str(number)
        case other:
            raise InputError(f"has {other!r:.40} as {column!r}; expected text", file=row.file, line=row.line)
