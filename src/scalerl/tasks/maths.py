"""Questions with an answer, from a dataset, judged by math-verify."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt, Verdict
from scalerl.tasks import equality, stable_hash
from scalerl.tasks.questions import read, same_text
from scalerl.tasks.task import Answer

NUM_SHOWN = 80  # letters of a question that an error shows


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
        return self._split[0]

    def held_out(self, count: int) -> Sequence[Prompt]:
        """So many held-out questions; a held-out file with fewer gives all it has."""
        held_out = self._split[1]
        if count > len(held_out) and not self.section.held_out_path:
            raise InputError(f"{count} held-out prompts are asked for, but {len(held_out)} were set aside")
        return held_out[:count]

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
    def _split(self) -> tuple[list[Prompt], list[Prompt]]:
        found = read(self.section.path, self.section, prefix=f"{self.name}:")
        if self.section.held_out_path:
            held_out = read(self.section.held_out_path, self.section, prefix=f"{self.name}:held-out/")
            _refuse_overlap(found, held_out, self.section)
            return found, _shuffled(held_out)
        return self._taken_out(found)

    def _taken_out(self, found: list[Prompt]) -> tuple[list[Prompt], list[Prompt]]:
        if len(found) < 2 * self.num_held_out:
            message = f"holds {len(found)} questions, too few to hold out {self.num_held_out} and train on as many"
            advice = "lower evaluation.prompts or give task.held_out_path"
            raise InputError(f"{message}; {advice}", file=self.section.path)
        held_out = _shuffled(found)[: self.num_held_out]
        names = {prompt.id for prompt in held_out}
        return [prompt for prompt in found if prompt.id not in names], held_out


def _shuffled(prompts: Iterable[Prompt]) -> list[Prompt]:
    # By hash: another order of the file, or a few more questions, hold out (nearly) the same ones.
    return sorted(prompts, key=lambda prompt: stable_hash.label("held out", prompt.text))


def _refuse_overlap(pool: Iterable[Prompt], held_out: Iterable[Prompt], section: recipe.Maths) -> None:
    trained = {same_text(prompt.text) for prompt in pool}
    if both := [prompt for prompt in held_out if same_text(prompt.text) in trained]:
        first = f"{both[0].text[:NUM_SHOWN]!r}"
        message = f"{len(both)} held-out questions are also in {section.path}, the first is {first}"
        raise InputError(f"{message}; take them out of one of the two", file=section.held_out_path)
