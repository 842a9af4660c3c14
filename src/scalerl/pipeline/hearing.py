"""A group before its judge: its verdicts have come, or are on their way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from scalerl.records import Group, Verdict

LOOK_SECONDS = 0.1
"""How long who waits for a verdict goes without looking at anything else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Hearing:
    """One group whose verdicts can be counted on; who needs them waits for them."""

    asked: Group
    """As it was answered."""
    group: Callable[[], Group]
    """With its verdicts, as soon as all are there; what kept a judge from judging at all is raised."""
    verdicts: tuple[Future[Verdict], ...] = ()
    """Those that were not there from the start."""

    @classmethod
    def over(cls, group: Group) -> Hearing:
        """That of a group which has been judged."""
        return cls(asked=group, group=lambda: group)

    @property
    def admission(self) -> int:
        """The ticket of its group."""
        return self.asked.admission

    def is_over(self, within: float = 0.0) -> bool:
        """Whether nobody has to wait any longer; looks for so many seconds."""
        return not wait(self.verdicts, within).not_done

    def so_far(self) -> Group:
        """As it can be written down now: with its verdicts, or as it was answered where one is missing."""
        has_all = self.is_over() and not any(one.cancelled() or one.exception() for one in self.verdicts)
        return self.group() if has_all else self.asked

    def drop(self) -> None:
        """Nobody needs it any more: what no worker has begun stays undone."""
        for one in self.verdicts:
            one.cancel()
