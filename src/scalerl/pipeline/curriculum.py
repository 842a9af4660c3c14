"""Which prompt is asked next: epochs over a finite pool of each task, without those that have become easy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

from scalerl.errors import InputError
from scalerl.pipeline.pool import Pool, Standing
from scalerl.recipe import sections
from scalerl.records import Prompt


class Curriculum:
    """Draws prompts of each task, epoch after epoch, and leaves out those that have become easy.

    No-positive-resampling: when an epoch begins, a prompt whose pass rate is at least the threshold is not in it.
    At least the task's share of a batch stays, filled up by those with the lowest last pass rate, ties by id; what
    was never judged stays.

    There is no way to put a prompt back: where a group fails, its prompt comes again in the next epoch. A prompt
    that ends one epoch may begin the next, so one batch may hold it twice: groups are told apart by admission,
    never by prompt.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        shares: Mapping[str, int],
        choices: sections.Curriculum,
        seed: int,
    ) -> None:
        _check(prompts, shares)
        self._choices = choices
        self._pools = {
            task: Pool(task, [prompt for prompt in prompts if prompt.task == task], share, seed)
            for task, share in shares.items()
        }
        self._ids = frozenset(prompt.id for prompt in prompts)
        self._standings: dict[str, Standing] = {}

    def draw(self, task: str) -> Prompt:
        """The next prompt of a task."""
        pool = self._pools[task]
        if pool.is_through:
            pool.start(epoch=pool.epoch + 1, retired=self._easy(pool))
        prompt = pool.next()
        standing = self.standing(prompt.id)
        self._standings[prompt.id] = replace(standing, num_visits=standing.num_visits + 1)
        return prompt

    def begins_epoch(self, task: str) -> bool:
        """Whether the next prompt of a task begins an epoch, which is chosen by all that was recorded."""
        return self._pools[task].is_through

    def record(self, prompt_id: str, num_passed: int, num_judged: int) -> None:
        """Remember what judges said of one visit; a visit of which nothing could be judged says nothing."""
        assert 0 <= num_passed <= num_judged and prompt_id in self._ids, (prompt_id, num_passed, num_judged)
        if num_judged == 0:
            return
        standing = self.standing(prompt_id)
        self._standings[prompt_id] = replace(
            standing,
            num_passed=standing.num_passed + num_passed,
            num_judged=standing.num_judged + num_judged,
            last_passed=num_passed,
            last_judged=num_judged,
        )

    def standing(self, prompt_id: str) -> Standing:
        """What is known of a prompt so far."""
        return self._standings.get(prompt_id, Standing())

    def epoch(self, task: str) -> int:
        """Epochs of a task that are over."""
        return self._pools[task].epoch

    def pool_size(self, task: str) -> int:
        """Prompts of a task that its present epoch asks."""
        return len(self._pools[task].order)

    def num_retired(self, task: str) -> int:
        """Prompts of a task that its present epoch leaves out."""
        return len(self._pools[task].retired)

    def state(self) -> dict[str, Any]:
        """Everything as JSON can hold it, prompts by their id."""
        return {
            "tasks": {
                task: {
                    "prompts": pool.digest,
                    "epoch": pool.epoch,
                    "position": pool.position,
                    "retired": sorted(pool.retired),
                }
                for task, pool in self._pools.items()
            },
            "standings": {name: list(astuple(standing)) for name, standing in self._standings.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, in the middle of an epoch; the prompts must be the same."""
        for name in state["standings"]:
            if name not in self._ids:
                raise InputError(f"the checkpoint knows a prompt {name!r} that the tasks do not have; {_REMEDY}")
        if set(state["tasks"]) != set(self._pools):
            raise InputError(
                f"the checkpoint has tasks {[*state['tasks']]}, the recipe {[*self._pools]}; {_REMEDY}"
            )
        for task, saved in state["tasks"].items():
            if saved["prompts"] != self._pools[task].digest:
                raise InputError(f"the prompts of task {task!r} are not those of the checkpoint; {_REMEDY}")
            self._pools[task].start(saved["epoch"], saved["retired"], saved["position"])
        self._standings = {name: Standing(*numbers) for name, numbers in state["standings"].items()}

    def _easy(self, pool: Pool) -> list[str]:
        """Prompts that a new epoch leaves out."""
        if not self._choices.no_positive_resampling:
            return []
        rates = {name: self.standing(name).pass_rate(self._choices.history) for name in pool.prompts}
        easy = [name for name, rate in rates.items() if rate >= self._choices.threshold]
        easy.sort(key=lambda name: (self.standing(name).pass_rate("last"), name))
        num_staying = len(pool.prompts) - len(easy)
        return easy[max(pool.share - num_staying, 0) :]


_REMEDY = "expected the data of the run that is resumed"


def _check(prompts: Sequence[Prompt], shares: Mapping[str, int]) -> None:
    seen: dict[str, Prompt] = {}
    for prompt in prompts:
        if prompt.task not in shares:
            raise InputError(f"prompt {prompt.id!r} is of task {prompt.task!r}; expected one of {[*shares]}")
        if prompt.id in seen:
            raise InputError(
                f"two prompts have the id {prompt.id!r}, {seen[prompt.id].text[:40]!r} and {prompt.text[:40]!r}; "
                "expected every prompt of every task to have an id of its own"
            )
        seen[prompt.id] = prompt
