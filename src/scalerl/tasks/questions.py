"""Prompts from the rows of a dataset, with every row that cannot be one refused by its line."""

from __future__ import annotations

from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt
from scalerl.tasks import equality, stable_hash
from scalerl.tasks.dataset import Row, rows
from scalerl.tasks.distinct import Distinct, same_text


def read(path: str, section: recipe.Maths, *, prefix: str) -> list[Prompt]:
    """Every question of a dataset once; the ids begin with the prefix."""
    columns = [one for one in (section.question, section.answer, section.id, section.difficulty) if one]
    found = Distinct()
    for row in rows(path, columns):
        found.add(row, _prompt(row, section, prefix))
    return found.prompts(path)


def _prompt(row: Row, section: recipe.Maths, prefix: str) -> Prompt:
    question = _text(row, section.question, "question")
    answer = equality.gold(_text(row, section.answer, "answer"))
    if not answer:
        raise row.refusal(f"has nothing after #### in {section.answer!r}")
    name = _text(row, section.id, "id") if section.id else stable_hash.label(same_text(question))
    difficulty = _text(row, section.difficulty, "difficulty") if section.difficulty else ""
    return Prompt(id=f"{prefix}{name}", task="maths", text=question, answer=answer, difficulty=difficulty)


def _text(row: Row, column: str, key: str) -> str:
    return row.text(column, f" (task.{key} names the column)")
