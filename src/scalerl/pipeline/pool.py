"""The prompts of one task, what is known of each, and the order of an epoch over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scalerl.errors import InputError
from scalerl.pipeline.seeds import seed_of
from scalerl.recipe.sections import History
from scalerl.records import Prompt


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one prompt: how often it was drawn, and what judges said of its answers."""

    num_visits: int = 0
    num_passed: int = 0
    num_judged: int = 0
    last_passed: int = 0
    last_judged: int = 0

    def pass_rate(self, history: History) -> float:
        """Pass rate over all judged visits or of the last one; not a number where there was none."""
        if self.num_judged == 0:
            return float("nan")
        return self.num_passed / self.num_judged if history == "mean" else self.last_passed / self.last_judged


class Pool:
    """The prompts of one task and the present epoch over them."""

    def __init__(self, task: str, prompts: Sequence[Prompt], share: int, seed: int) -> None:
        if not prompts:
            raise InputError(f"task {task!r} has no training prompts; expected at least one")
        self.task = task
        self.share = share
        self.prompts = {prompt.id: prompt for prompt in prompts}
        self.digest = seed_of(*sorted(self.prompts))
        self._seed = seed
        self.start(epoch=0, retired=())

    def start(self, epoch: int, retired: Iterable[str], position: int = 0) -> None:
        """Begin an epoch without the retired prompts, in an order that follows from seed, task and epoch alone."""
        self.epoch = epoch
        self.position = position
        self.retired = frozenset(retired)
        staying = (name for name in self.prompts if name not in self.retired)
        self.order = sorted(staying, key=lambda name: (seed_of(self._seed, "epoch", self.task, epoch, name), name))

    @property
    def is_through(self) -> bool:
        """Whether every prompt of this epoch was drawn."""
        return self.position == len(self.order)

    def next(self) -> Prompt:
        """The next prompt of this epoch."""
        self.position += 1
        return self.prompts[self.order[self.position - 1]]
