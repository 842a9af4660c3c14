"""What every task can say: its prompts, its held-out prompts, and what an answer is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from scalerl.records import Prompt, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A rollout as a judge sees it."""

    text: str
    """What follows the thinking; all of it where there are no thinking tags, nothing where thinking never ended."""
    thinking: str = ""
    is_complete: bool = True
    """Whether thinking was closed and the answer came to its end within its budget."""
    nonce: int = 0
    """The rollout's own seed: the one source of chance a judge may use, so that a resume judges alike."""

    @property
    def final(self) -> str:
        """What stands in the last `<answer>` tags, or else all of the text.

        >>> Answer(text="So <answer> 42 </answer>.").final
        '42'
        """
        before, closing, _ = self.text.rpartition("</answer>")
        _, opening, tagged = before.rpartition("<answer>")
        return (tagged if opening and closing else self.text).strip()


class Task(Protocol):
    """A set of prompts, a disjoint held-out set, and a judge; alike for alike recipes, on every machine."""

    @property
    def name(self) -> str:
        """What its prompts name as their task, and what their ids begin with."""
        ...

    def prompts(self) -> Sequence[Prompt]:
        """The finite pool that training draws from."""
        ...

    def held_out(self, count: int) -> Sequence[Prompt]:
        """So many prompts for evaluation, none of which is in the pool."""
        ...

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """What the answer is worth; a pure function, whatever the order of calls."""
        ...


@runtime_checkable
class Slow(Protocol):
    """A task whose judge may take long or never end, and is therefore run in a process of its own.

    Such a task can be pickled: the process gets a copy of it.
    """

    def seconds(self, prompt: Prompt) -> float | None:
        """Longest time for one answer; None where this prompt's judge is quick and safe."""
        ...

    def load(self) -> None:
        """Import what judging needs, in the process that judges: this time counts for no answer."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """A task whose judge only waits for what runs elsewhere, as in a sandbox: many threads may call it at once."""

    def waits(self, prompt: Prompt) -> bool:
        """Whether that holds for this prompt."""
        ...

    def close(self) -> None:
        """End what it keeps ready; the next answer would start it again."""
        ...
