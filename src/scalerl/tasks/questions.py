"""Prompts from the rows of a dataset, with every row that cannot be one refused by its line."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt
from scalerl.tasks import equality, stable_hash
from scalerl.tasks.dataset import Row, rows


def read(path: str, section: recipe.Maths, *, prefix: str) -> list[Prompt]:
    """Every question of a dataset once; the ids begin with the prefix."""
    columns = [one for one in (section.question, section.answer, section.id, section.difficulty) if one]
    seen: dict[str, tuple[Row, Prompt]] = {}
    places: dict[str, Row] = {}
    num_merged = 0
    for row in rows(path, columns):
        prompt = _prompt(row, section, prefix)
        first = seen.setdefault(same_text(prompt.text), (row, prompt))
        if first[0] is row:
            _refuse_same_id(prompt, row, places)
        else:
            _refuse_other_answer(first, (row, prompt))
            num_merged += 1
    if not seen:
        raise InputError("holds no questions", file=path)
    if num_merged:
        warnings.warn(f"{path}: {num_merged} repeated questions are asked once", stacklevel=2)
    return [prompt for _, prompt in seen.values()]


def same_text(question: str) -> str:
    """A question without differences of blanks and line ends: two that are alike here are the same question."""
    return " ".join(question.split())


def _prompt(row: Row, section: recipe.Maths, prefix: str) -> Prompt:
    question = _text(row, section.question, "question")
    answer = equality.gold(_text(row, section.answer, "answer"))
    if not answer:
        raise InputError(f"has nothing after #### in {section.answer!r}", file=row.file, line=row.line)
    name = _text(row, section.id, "id") if section.id else stable_hash.label(same_text(question))
    difficulty = _text(row, section.difficulty, "difficulty") if section.difficulty else ""
    return Prompt(id=f"{prefix}{name}", task="maths", text=question, answer=answer, difficulty=difficulty)


def _text(row: Row, column: str, key: str) -> str:
    match row.cells.get(column):
        case None:
            problem = f"has no {column!r}"
        case str() as text if text.strip():
            return text.strip()
        case str():
            problem = f"has an empty {column!r}"
        case int() | float() as number if not isinstance(number, bool) and math.isfinite(number):
            return format(Decimal(repr(number)), "f")  # 1e-07 is no number in LaTeX
        case other:
            problem = f"has {other!r:.40} as {column!r}; expected text or a number"
    raise InputError(f"{problem} (task.{key} names the column)", file=row.file, line=row.line)


def _refuse_same_id(prompt: Prompt, row: Row, places: dict[str, Row]) -> None:
    first = places.setdefault(prompt.id, row)
    if first is not row:
        message = f"has the id {prompt.id.rpartition(':')[2]!r} of line {first.line} in {first.file}"
        raise InputError(f"{message}; ids must differ", file=row.file, line=row.line)


def _refuse_other_answer(first: tuple[Row, Prompt], second: tuple[Row, Prompt]) -> None:
    (old, before), (new, after) = first, second
    if before.answer != after.answer:
        message = f"asks what line {old.line} in {old.file} asks, with the answer {after.answer!r:.40}"
        raise InputError(f"{message} instead of {before.answer!r:.40}", file=new.file, line=new.line)
