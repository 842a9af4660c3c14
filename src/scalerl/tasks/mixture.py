"""Several tasks in one run, each with a fixed share of every batch, held-out prompts and a curve of its own."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scalerl.errors import InputError
from scalerl.records import Prompt, Verdict
from scalerl.tasks.shares import shares
from scalerl.tasks.task import Answer, Slow, Task, Waiting


class Mixture:
    """Parts by name: a prompt's task is the name of its part, and its id begins with it."""

    name = "mixture"

    def __init__(self, parts: Mapping[str, Task], weights: Mapping[str, float], num_held_out: int) -> None:
        if not parts:
            raise InputError("task.parts is empty; expected at least one [[task.parts]]")
        for name in parts:
            if not re.fullmatch(r"[\w.-]+", name):
                raise InputError(f"task.parts has the name {name!r}; expected letters, digits, '_', '-' or '.'")
        self.parts = parts
        self.weights = weights
        self.num_held_out = num_held_out

    def prompts(self) -> Sequence[Prompt]:
        """The pools of all parts, without what any part holds out."""
        held_out = {prompt.text for prompt in self.held_out(self.num_held_out)}
        found = [_named(name, prompt) for name, task in self.parts.items() for prompt in task.prompts()]
        kept = [prompt for prompt in found if prompt.text not in held_out]
        if num_left_out := len(found) - len(kept):
            message = f"{num_left_out} prompts of the mixture are held out by another part and not trained on"
            warnings.warn(message, stacklevel=2)
        return kept

    def held_out(self, count: int) -> Sequence[Prompt]:
        """So many prompts of each part."""
        return [_named(name, prompt) for name, task in self.parts.items() for prompt in task.held_out(count)]

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """What the prompt's part says."""
        return self.parts[prompt.task].judge(self._own(prompt), answer)

    def seconds(self, prompt: Prompt) -> float | None:
        """Longest time for an answer, as the prompt's part has it."""
        task = self.parts[prompt.task]
        return task.seconds(self._own(prompt)) if isinstance(task, Slow) else None

    def load(self) -> None:
        """Import what the parts need."""
        for task in self.parts.values():
            if isinstance(task, Slow):
                task.load()

    def waits(self, prompt: Prompt) -> bool:
        """Whether judging is waiting, as the prompt's part has it."""
        task = self.parts[prompt.task]
        return isinstance(task, Waiting) and task.waits(self._own(prompt))

    def close(self) -> None:
        """End what the parts keep ready."""
        for task in self.parts.values():
            if isinstance(task, Waiting):
                task.close()

    def shares(self, batch_prompts: int) -> dict[str, int]:
        """How many prompts of a batch each part gives."""
        return shares(self.weights, batch_prompts)

    def _own(self, prompt: Prompt) -> Prompt:
        name = prompt.task
        return replace(prompt, id=prompt.id.removeprefix(f"{name}:"), task=self.parts[name].name)


def _named(name: str, prompt: Prompt) -> Prompt:
    return replace(prompt, id=f"{name}:{prompt.id}", task=name)
