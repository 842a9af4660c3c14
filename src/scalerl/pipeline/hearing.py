"""A group before its judge: its verdicts have come, or are on their way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from scalerl.records import Group, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Hearing:
    """One group whose verdicts can be counted on; who needs them waits for them."""

    admission: int
    group: Callable[[], Group]
    """The group with its verdicts, as soon as all are there."""
    verdicts: tuple[Future[Verdict], ...] = ()
    """Those that were not there from the start."""

    @classmethod
    def over(cls, group: Group) -> Hearing:
        """That of a group which has been judged."""
        return cls(admission=group.admission, group=lambda: group)

    @property
    def is_over(self) -> bool:
        """Whether nobody would have to wait."""
        return all(one.done() for one in self.verdicts)

    def drop(self) -> None:
        """Nobody needs it any more: what no worker has begun stays undone."""
        for one in self.verdicts:
            one.cancel()
