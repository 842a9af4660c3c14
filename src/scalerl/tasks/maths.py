"""Questions with an answer, from a dataset, judged by math-verify."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt, Verdict
from scalerl.tasks import equality
from scalerl.tasks.held_out import Divided, divided
from scalerl.tasks.questions import read
from scalerl.tasks.task import Answer


class Maths:
    """A dataset of a recipe; without a held-out file of its own it gives up `num_held_out` of its questions."""

    name = "maths"

    def __init__(self, section: recipe.Maths, num_held_out: int) -> None:
        if not section.path:
            raise InputError("task.path is empty; expected a file or folder with questions and answers")
        equality.require()
        self.section = section
        self.num_held_out = num_held_out

    def __reduce__(self) -> tuple[Any, ...]:
        # The process that judges needs no questions.
        return Maths, (self.section, self.num_held_out)

    def prompts(self) -> Sequence[Prompt]:
        """The questions to train on, in the order of the file."""
        return self._divided.pool

    def held_out(self, count: int) -> Sequence[Prompt]:
        """So many held-out questions; a held-out file with fewer gives all it has."""
        return self._divided.first(count)

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Passed by an answer that is equal in mathematics, however it is written."""
        passed = equality.is_equal(prompt.answer, answer.final)
        return Verdict(score=float(passed), passed=passed)

    def seconds(self, prompt: Prompt) -> float | None:
        """Longest time for one answer: some expressions keep a computer algebra system busy for ever."""
        return self.section.seconds

    def load(self) -> None:
        """Import math-verify."""
        equality.load()

    @cached_property
    def _divided(self) -> Divided:
        section = self.section
        return divided(
            lambda path, prefix: read(path, section, prefix=prefix),
            task=self.name,
            path=section.path,
            held_out_path=section.held_out_path,
            num_held_out=self.num_held_out,
        )
