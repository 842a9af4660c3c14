"""Rewards that know nothing of the task: a metric that rises under them rises without a right signal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scalerl.recipe.sections import Reward
from scalerl.records import Prompt, Verdict
from scalerl.tasks import stable_hash
from scalerl.tasks.task import Answer, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """A task's own prompts under another judge."""

    task: Task
    decide: Callable[[Prompt, Answer], bool]

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
        """Passed by what the control looks at."""
        passed = self.decide(prompt, answer)
        return Verdict(score=float(passed), passed=passed)


def random(prompt: Prompt, answer: Answer) -> bool:
    """A coin, one throw a rollout, whatever is answered."""
    return stable_hash.coin("random reward", prompt.id, answer.nonce)


def format(prompt: Prompt, answer: Answer) -> bool:
    """The form alone: an answer that came to its end and is not empty."""
    return answer.is_complete and bool(answer.text.strip())


def training_judge(task: Task, reward: Reward) -> Task:
    """What judges training rollouts under a recipe's `reward`; evaluation always asks the task itself."""
    match reward:
        case "task":
            return task
        case "random":
            return Control(task=task, decide=random)
        case "format":
            return Control(task=task, decide=format)
