"""Rewards that know nothing of the task: a metric that rises under them rises without a right signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalerl.recipe.sections import Reward
from scalerl.records import Prompt, Verdict
from scalerl.tasks import stable_hash
from scalerl.tasks.task import Answer, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Random:
    """A task with a coin for a judge, one throw a rollout."""

    task: Task

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task.name

    def prompts(self) -> Sequence[Prompt]:
        """The pool of the task."""
        return self.task.prompts()

    def held_out(self, count: int) -> Sequence[Prompt]:
        """The held-out prompts of the task."""
        return self.task.held_out(count)

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Passed by chance, whatever is answered."""
        passed = stable_hash.coin("random reward", prompt.id, answer.nonce)
        return Verdict(score=float(passed), passed=passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """A task whose judge looks at the form alone."""

    task: Task

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task.name

    def prompts(self) -> Sequence[Prompt]:
        """The pool of the task."""
        return self.task.prompts()

    def held_out(self, count: int) -> Sequence[Prompt]:
        """The held-out prompts of the task."""
        return self.task.held_out(count)

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Passed by any answer that came to its end and is not empty."""
        passed = answer.is_complete and bool(answer.text.strip())
        return Verdict(score=float(passed), passed=passed)


def training_judge(task: Task, reward: Reward) -> Task:
    """What judges training rollouts under a recipe's `reward`; evaluation always asks the task itself."""
    match reward:
        case "task":
            return task
        case "random":
            return Random(task=task)
        case "format":
            return Format(task=task)
