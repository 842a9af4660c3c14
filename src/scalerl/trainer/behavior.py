"""Refuse rollouts whose sampling log-probabilities are missing: every ratio would silently be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalerl.errors import InputError
from scalerl.objective.selection import Counted
from scalerl.records import Rollout

ROUNDING = 1e-4
"""How far above zero a log-probability may come out of finite precision."""


def check_behavior(one: Counted) -> None:
    """Refuse a group with a log-probability that is absent, impossible, or plainly a filled-in zero."""
    for index, rollout in enumerate(one.rollouts):
        problem = _problem(rollout)
        if problem:
            raise _refusal(one, f"rollout {index} has {problem}")
    if _is_filled_in(one.rollouts):
        raise _refusal(one, "answers that differ all have log-probability 0, so none was recorded")


def _refusal(one: Counted, problem: str) -> InputError:
    where = f"group {one.group.admission} of prompt {one.group.prompt.id}"
    return InputError(f"{where}: {problem}; expected the log-probability of every token as it was sampled")


def _problem(rollout: Rollout) -> str:
    num_tokens = len(rollout.tokens)
    lengths = (len(rollout.behavior), len(rollout.versions), len(rollout.is_trainable))
    if lengths != (num_tokens,) * 3:
        return f"{num_tokens} tokens but {lengths} log-probabilities, versions and marks"
    found = rollout.behavior[rollout.is_trainable]
    if not np.all(np.isfinite(found)):
        return f"{np.count_nonzero(~np.isfinite(found))} log-probabilities that are no finite number"
    if len(found) and found.max() > ROUNDING:
        return f"a log-probability of {found.max():.3g}, which is above 0"
    return ""


def _is_filled_in(rollouts: Sequence[Rollout]) -> bool:
    """Whether all log-probabilities are 0 although two answers part at a sampled token: both cannot be certain."""
    if any(one.behavior[one.is_trainable].any() for one in rollouts):
        return False
    return any(_part_at_sampled(rollouts[0], other) for other in rollouts[1:])


def _part_at_sampled(one: Rollout, other: Rollout) -> bool:
    shared = min(len(one.tokens), len(other.tokens))
    places = np.flatnonzero(one.tokens[:shared] != other.tokens[:shared])
    return len(places) > 0 and bool(one.is_trainable[places[0]] and other.is_trainable[places[0]])
