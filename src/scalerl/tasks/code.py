"""Programming problems from a dataset, judged by running programs against tests in a sandbox."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from threading import Lock
from typing import Any

from scalerl import sandbox
from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.recipe.paths import place_of
from scalerl.records import Prompt, Verdict
from scalerl.sandbox import Job, Outcome, Sandbox
from scalerl.tasks.code_rows import COLUMNS, Problem, problem_of
from scalerl.tasks.code_suite import Suite, Suites
from scalerl.tasks.code_trying import WRONG, Trying, broken
from scalerl.tasks.dataset import rows
from scalerl.tasks.distinct import Distinct
from scalerl.tasks.fenced import last_block
from scalerl.tasks.held_out import Divided, divided
from scalerl.tasks.task import Answer

NUM_LETTERS = 300  # of an error


class Code:
    """A dataset of a recipe; without a held-out file of its own it gives up `num_held_out` of its problems.

    A prompt carries the digest of its tests, not the tests. A process that judges reads the dataset when it is
    first asked. The sandbox starts with the first answer.
    """

    name = "code"

    def __init__(self, section: recipe.Code, num_held_out: int) -> None:
        if not section.path:
            raise InputError("task.path is empty; expected a file or folder with problems and tests")
        sandbox.require()
        self._begin(section, num_held_out)

    def __getstate__(self) -> tuple[recipe.Code, int]:
        return self.section, self.num_held_out

    def __setstate__(self, state: tuple[recipe.Code, int]) -> None:
        self._begin(*state)

    def prompts(self) -> Sequence[Prompt]:
        """The problems to train on, in the order of the file."""
        return self._read.pool

    def held_out(self, count: int) -> Sequence[Prompt]:
        """So many held-out problems; a held-out file with fewer gives all it has."""
        return self._read.first(count)

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Run the program in the answer's last fenced block against the tests of the prompt."""
        program = last_block(answer.text)
        if program is None or not program.strip():
            return Verdict(score=0.0, passed=False, kind=WRONG, reason="the answer has no fenced program")
        try:
            suite = self._suite(prompt)
            return Trying(run=self._run, section=self.section).verdict(program, suite)
        except Exception as error:  # a judge that fails on one answer must not end the run
            return broken(f"{type(error).__name__}: {error}"[:NUM_LETTERS])

    def waits(self, prompt: Prompt) -> bool:
        """Judging is waiting for the sandbox, which runs as many programs at once as threads ask it."""
        return True

    def close(self) -> None:
        """End the workers of the sandbox; the next answer would start them again."""
        with self._lock:
            if self._sandbox is not None:
                self._sandbox.close()
            self._sandbox = None

    def _begin(self, section: recipe.Code, num_held_out: int) -> None:
        self.section = section
        self.num_held_out = num_held_out
        self._suites = Suites()
        self._divided: Divided | None = None
        self._sandbox: Sandbox | None = None
        self._lock = Lock()

    def _run(self, job: Job) -> Outcome:
        with self._lock:
            if self._sandbox is None:
                self._sandbox = Sandbox()
            place = self._sandbox
        return place.run(job)

    def _suite(self, prompt: Prompt) -> Suite:
        _ = self._read
        digest = str(prompt.answer["tests"])
        try:
            return self._suites.of(digest)
        except LookupError:
            where = " and ".join(one for one in (self.section.path, self.section.held_out_path) if one)
            raise LookupError(f"the tests {digest} of {prompt.id} are not in {where}; was it changed?") from None

    @property
    def _read(self) -> Divided:
        """The dataset, read once however many threads ask."""
        with self._lock:
            if self._divided is None:
                self._divided = divided(
                    self._prompts_in,
                    task=self.name,
                    path=self.section.path,
                    held_out_path=self.section.held_out_path,
                    num_held_out=self.num_held_out,
                    key=lambda prompt: prompt.id,  # the text ends in the instruction, which must choose nothing
                )
            return self._divided

    def _prompts_in(self, path: str, prefix: str) -> list[Prompt]:
        found, problems = Distinct(), list[InputError]()
        for row in rows(str(place_of(recipe.Code, path)), (), any_of=COLUMNS):
            try:
                found.add(row, self._prompt(problem_of(row), prefix))
            except InputError as problem:
                if self.section.unusable == "refuse":
                    raise
                problems.append(problem)
        if problems:
            warnings.warn(f"{path}: {len(problems)} rows are left out, the first: {problems[0]}", stacklevel=2)
        return found.prompts(path)

    def _prompt(self, problem: Problem, prefix: str) -> Prompt:
        answer: dict[str, Any] = {"tests": self._suites.add(problem.suite.hardest(self.section.most_tests))}
        return Prompt(
            id=f"{prefix}{problem.name}",
            task=self.name,
            text=asked(problem, self.section.instruction),
            answer=answer,
            difficulty=problem.difficulty,
        )


def asked(problem: Problem, instruction: str) -> str:
    """The text of a prompt: the problem, then starter code and instruction where there are such."""
    starter = f"Starter code:\n```python\n{problem.starter}\n```" if problem.starter.strip() else ""
    last = instruction.replace("{what}", _what(problem))
    return "\n\n".join(part for part in (problem.text, starter, last) if part)


def _what(problem: Problem) -> str:
    entry = problem.suite.entry
    if not entry:
        return "a program that reads standard input and writes to standard output"
    is_method = "class Solution" in problem.starter
    return f"the class `Solution` with the method `{entry}`" if is_method else f"a function `{entry}`"
