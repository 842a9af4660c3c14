"""A task of your own: a class in a Python file, checked where it meets the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt, Verdict
from scalerl.tasks import stable_hash
from scalerl.tasks.task import Answer, Task

METHODS = ("prompts", "held_out", "judge")


class PythonTask:
    """Your object, with every prompt checked; a number `seconds` on it has answers judged in a process apart."""

    def __init__(self, section: recipe.Python) -> None:
        self.section = section
        self._task = loaded(section)
        self.name = self._task.name

    def __reduce__(self) -> tuple[Any, ...]:
        return PythonTask, (self.section,)

    def prompts(self) -> Sequence[Prompt]:
        """Your pool."""
        return self._checked("prompts()", self._task.prompts())

    def held_out(self, count: int) -> Sequence[Prompt]:
        """Your held-out prompts: so many, none of them in the pool."""
        found = self._checked(f"held_out({count})", self._task.held_out(count))
        if len(found) != count:
            raise InputError(f"held_out({count}) gave {len(found)} prompts", file=self.section.path)
        pool = {prompt.text for prompt in self.prompts()}
        if both := [prompt for prompt in found if prompt.text in pool]:
            message = f"{len(both)} held-out prompts are also in the pool, the first is {both[0].id!r}"
            raise InputError(message, file=self.section.path)
        return found

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Your verdict."""
        return self._task.judge(prompt, answer)

    def seconds(self, prompt: Prompt) -> float | None:
        """Your limit for one answer, where the class has one."""
        return getattr(self._task, "seconds", None)

    def load(self) -> None:
        """Nothing is left to do: the file was run when this was made."""

    def _checked(self, call: str, found: Sequence[object]) -> list[Prompt]:
        prompts = [self._prompt(call, one) for one in found]
        if not prompts:
            raise InputError(f"{call} gave no prompts", file=self.section.path)
        seen: set[str] = set()
        for prompt in prompts:
            if prompt.id in seen:
                raise InputError(f"{call} gave the id {prompt.id!r} twice", file=self.section.path)
            seen.add(prompt.id)
        return prompts

    def _prompt(self, call: str, one: object) -> Prompt:
        if not isinstance(one, Prompt):
            raise InputError(f"{call} gave {one!r:.80}; expected scalerl.records.Prompt", file=self.section.path)
        if one.task != self.name or not one.id.startswith(f"{self.name}:"):
            message = f"{call} gave the id {one.id!r} and task {one.task!r}"
            expected = f"expected an id that begins with '{self.name}:' and the task {self.name!r}"
            raise InputError(f"{message}; {expected}", file=self.section.path)
        try:
            json.dumps(one.answer)
        except (TypeError, ValueError) as error:
            raise InputError(f"the answer of {one.id!r} is no JSON: {error}", file=self.section.path) from None
        return one


def loaded(section: recipe.Python) -> Task:
    """Run the file and make an object of the class."""
    path, colon, name = section.path.rpartition(":")
    if not (colon and path and name):
        raise InputError(f"task.path is {section.path!r}; expected a file and a class, such as my_task.py:Reverse")
    made = getattr(_module(Path(path)), name, None)
    if not isinstance(made, type):
        raise InputError(f"has no class {name!r}, which task.path names", file=path)
    try:
        task = made(**section.options)
    except Exception as error:  # whatever your class raises is yours to know
        raise InputError(f"{name} does not take task.options: {type(error).__name__}: {error}", file=path) from None
    missing = [method for method in METHODS if not callable(getattr(task, method, None))]
    if missing or not isinstance(getattr(task, "name", None), str):
        raise InputError(f"{name} lacks {', '.join(missing) or 'a name of text'}; see docs/tasks.md", file=path)
    return task


def _module(file: Path) -> ModuleType:
    if not file.is_file():
        raise InputError("there is no such file, which task.path names", file=file)
    name = f"scalerl_task_{stable_hash.label(file.resolve())}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError("is no Python file, which task.path names", file=file)
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"is no Python: {error.msg}", file=file, line=error.lineno) from None
    except Exception as error:  # whatever your file raises is yours to know
        raise InputError(f"cannot be run: {type(error).__name__}: {error}", file=file) from None
    return module
