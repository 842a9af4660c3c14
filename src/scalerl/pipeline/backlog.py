"""The groups between answering and learning: handed over, and not used up by a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.hearing import LOOK_SECONDS, Hearing
from scalerl.pipeline.roles import Judging
from scalerl.records import Group
from scalerl.run.groups import group_lines, read_groups

WAITING = "waiting.jsonl"
"""File of a checkpoint."""


class Backlog:
    """Groups by admission, their verdicts there or on their way.

    The curriculum is told of a group once: when it is asked for, or when all that is there is settled. Neither
    hangs on how long a judge takes.
    """

    def __init__(self, curriculum: Curriculum) -> None:
        self._curriculum = curriculum
        self._hearings: dict[int, Hearing] = {}
        self._untold: set[int] = set()
        """Those of which the curriculum does not know."""

    def add(self, hearing: Hearing) -> None:
        """Take in what has been answered."""
        self._hearings[hearing.admission] = hearing
        self._untold.add(hearing.admission)

    def groups(self, admissions: Iterable[int], is_stopping: Callable[[], bool]) -> list[Group] | None:
        """These groups with their verdicts; None when asked to stop before all have come."""
        wanted = list(admissions)
        for admission in wanted:
            while not self._hearings[admission].is_over(within=LOOK_SECONDS):
                if is_stopping():
                    return None
        return [self._told(admission) for admission in wanted]

    @property
    def is_settled(self) -> bool:
        """Whether the curriculum knows of all that is there."""
        return not self._untold

    def settle(self, is_stopping: Callable[[], bool]) -> bool:
        """Tell the curriculum of all that is there; false when asked to stop before the verdicts have come."""
        return self.groups(sorted(self._untold), is_stopping) is not None

    def remove(self, admissions: Iterable[int]) -> None:
        """A batch has used these up."""
        for admission in admissions:
            del self._hearings[admission]

    def save(self, folder: Path) -> list[int]:
        """Write down every group, judged or not; returns those of which the curriculum does not know."""
        (folder / WAITING).write_bytes(group_lines(one.so_far() for one in self._hearings.values()))
        return sorted(self._untold)

    def load(self, folder: Path, untold: Sequence[int], court: Judging) -> None:
        """Go on with what was written there, and put before the court again what was not judged."""
        groups = read_groups(folder / WAITING)
        hearings = (Hearing.over(one) if one.is_judged else court.hear([one])[0] for one in groups)
        self._hearings = {one.admission: one for one in hearings}
        self._untold = set(untold)

    def _told(self, admission: int) -> Group:
        group = self._hearings[admission].group()
        if admission in self._untold:
            judged = group.judged
            self._curriculum.record(group.prompt.id, sum(one.passed for one in judged), len(judged))
            self._untold.remove(admission)
        return group
