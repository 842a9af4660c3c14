"""Which groups survive, and which of their rollouts count.

A batch is never refilled: what is left out makes it smaller. Nothing is changed in the groups themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.recipe.sections import Objective, Truncated
from scalerl.records import Group, Rollout

Kind = Literal["mixed", "all_right", "all_wrong", "flat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """A group with the rollouts of it that count and the rewards they count with."""

    group: Group
    rollouts: tuple[Rollout, ...]
    rewards: NDArray[np.float64]

    @property
    def is_flat(self) -> bool:
        """Whether there is nothing to learn: all rewards are equal, or fewer than two are left."""
        return len(self.rewards) < 2 or bool(np.all(self.rewards == self.rewards[0]))

    @property
    def kind(self) -> Kind:
        """Why it is flat, `flat` where its answers are neither all right nor all wrong, or too few."""
        if not self.is_flat:
            return "mixed"
        passed = [one.passed for one in self.rollouts]
        if len(passed) < 2 or len(set(passed)) == 2:
            return "flat"
        return "all_right" if passed[0] else "all_wrong"


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """The groups that survive, in the order of admission, and the counts of what did not."""

    survivors: tuple[Counted, ...]
    num_groups: int
    num_all_right: int
    num_all_wrong: int
    num_flat_otherwise: int
    num_truncated_dropped: int
    num_errors: int
    """Rollouts that no judge could judge."""

    @property
    def num_flat(self) -> int:
        """Groups that have nothing to teach, kept or not."""
        return self.num_all_right + self.num_all_wrong + self.num_flat_otherwise

    @property
    def is_flat(self) -> bool:
        """Whether no group at all has anything to teach; the optimizer is not called then."""
        return self.num_flat == self.num_groups

    @property
    def num_surviving(self) -> int:
        """Groups that enter the loss."""
        return len(self.survivors)

    @property
    def num_rollouts(self) -> int:
        """Rollouts that enter the loss."""
        return sum(len(one.rollouts) for one in self.survivors)


def select(groups: Sequence[Group], objective: Objective) -> Selection:
    """Sort by admission, leave out what does not count, then what is flat.

    With `zero_variance = "keep"` flat groups survive with advantages of zero and weigh in every mean; a group
    without any rollout left has nothing that could be kept.
    """
    found = [counted(group, objective.truncated) for group in sorted(groups, key=lambda one: one.admission)]
    kinds = [one.kind for one in found]
    is_kept = objective.zero_variance == "keep"
    num_judged = sum(len(group.judged) for group in groups)
    return Selection(
        survivors=tuple(one for one in found if not one.is_flat or (is_kept and one.rollouts)),
        num_groups=len(groups),
        num_all_right=kinds.count("all_right"),
        num_all_wrong=kinds.count("all_wrong"),
        num_flat_otherwise=kinds.count("flat"),
        num_truncated_dropped=num_judged - sum(len(one.rollouts) for one in found),
        num_errors=sum(len(group.rollouts) for group in groups) - num_judged,
    )


def counted(group: Group, truncated: Truncated) -> Counted:
    """The rollouts of a group that count: judged, and truncated ones as the recipe says.

    `drop` leaves truncated rollouts out of the loss and of their group's statistics; `keep` takes them with the
    reward their judge gave; `fail` takes them with a reward of -1. In pass rates they have failed in any case.
    """
    rollouts = tuple(one for one in group.judged if truncated != "drop" or one.ending != "truncated")
    is_failed = [truncated == "fail" and one.ending == "truncated" for one in rollouts]
    rewards = [-1.0 if failed else one.reward for one, failed in zip(rollouts, is_failed, strict=True)]
    if not np.all(np.isfinite(rewards)):
        raise InputError(f"prompt {group.prompt.id} has a judged answer whose reward is not a number")
    return Counted(group=group, rollouts=rollouts, rewards=np.array(rewards, dtype=np.float64))
