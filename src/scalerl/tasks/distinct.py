"""Prompts of a dataset, each once: repeated ones are merged, and rows that contradict each other refused."""

from __future__ import annotations

import warnings

from scalerl.errors import InputError
from scalerl.records import Prompt
from scalerl.tasks.dataset import Row


class Distinct:
    """Prompts as they come, with the rows they come from."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[Row, Prompt]] = {}
        self._places: dict[str, Row] = {}
        self._num_merged = 0

    def add(self, row: Row, prompt: Prompt) -> None:
        """Take a prompt; the same question again is counted, with another answer it is refused."""
        text = same_text(prompt.text)
        if text in self._first:
            _refuse_other_answer(self._first[text], (row, prompt))
            self._num_merged += 1
            return
        first = self._places.setdefault(prompt.id, row)
        if first is not row:
            problem = f"has the id {prompt.id.rpartition(':')[2]!r} of line {first.line} in {first.file}"
            raise row.refusal(f"{problem}; ids must differ")
        self._first[text] = row, prompt

    def prompts(self, path: str) -> list[Prompt]:
        """All of them in order; a warning counts what was merged, and an empty dataset is refused."""
        if not self._first:
            raise InputError("holds no questions", file=path)
        if self._num_merged:
            warnings.warn(f"{path}: {self._num_merged} repeated questions are asked once", stacklevel=3)
        return [prompt for _, prompt in self._first.values()]


def same_text(question: str) -> str:
    """A question without differences of blanks and line ends: two that are alike here are the same question."""
    return " ".join(question.split())


def _refuse_other_answer(first: tuple[Row, Prompt], second: tuple[Row, Prompt]) -> None:
    (old, before), (new, after) = first, second
    if before.answer != after.answer:
        problem = f"asks what line {old.line} in {old.file} asks, with the answer {after.answer!r:.40}"
        raise new.refusal(f"{problem} instead of {before.answer!r:.40}")
