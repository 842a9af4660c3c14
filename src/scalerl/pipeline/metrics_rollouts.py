"""What a batch of judged groups says: rewards, pass rates, lengths and how answers ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from scalerl.records import VERDICT_KINDS, Group, Rollout

MOST_LABELS = 20
"""Labels of difficulty that are logged; a column with a label of its own for every prompt would drown the log."""


def rollout_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Say what was sampled and what it was worth."""
    rollouts = [one for group in groups for one in group.rollouts]
    judged = [one for group in groups for one in group.judged]
    interrupted = [one for one in judged if one.is_interrupted]
    return {
        "batch/groups": len(groups),
        "batch/rollouts": len(rollouts),
        **_rewards(judged),
        **_shares("group", groups),
        **_lengths(rollouts, judged),
        **_mean("truncation/share", (one.ending == "truncated" for one in rollouts)),
        **_mean("interruption/share", (one.is_interrupted for one in rollouts)),
        **_mean("interruption/pass_rate", (one.passed for one in interrupted)),
        **_mean("judge/error_share", (one.verdict is not None and bool(one.verdict.error) for one in rollouts)),
        **verdict_metrics("verdict", sum((group.verdict_kinds for group in groups), Counter[str]())),
        **_pass_rates("task", groups, lambda group: group.prompt.task),
        **_by_difficulty(groups),
    }


def path_part(label: str) -> str:
    """A label as one part of a path.

    >>> path_part("3/4 steps")
    '3_4 steps'
    """
    return label.replace("/", "_").strip()


def verdict_metrics(path: str, kinds: Mapping[str, int]) -> dict[str, float]:
    """How many answers ended in each kind of verdict; nothing where no task tells kinds.

    >>> verdict_metrics("verdict", {}), verdict_metrics("verdict", {"runtime error": 2})["verdict/runtime_error"]
    ({}, 2)
    """
    if not kinds:
        return {}
    commonest = sorted(kinds, key=lambda kind: (-kinds[kind], kind))[:MOST_LABELS]
    labels = dict.fromkeys((*VERDICT_KINDS, *commonest)) if set(kinds) & set(VERDICT_KINDS) else commonest
    return {f"{path}/{path_part(label).replace(' ', '_')}": kinds.get(label, 0) for label in labels}


def _rewards(judged: Sequence[Rollout]) -> dict[str, float]:
    rewards = np.array([one.reward for one in judged if np.isfinite(one.reward)])
    spread = {"reward/std": float(rewards.std())} if len(rewards) else {}
    return {**_mean("reward/mean", rewards), **spread, **_mean("reward/pass_rate", (one.passed for one in judged))}


def _shares(path: str, groups: Sequence[Group]) -> dict[str, float]:
    rates = [group.pass_rate for group in groups if group.judged]
    return {
        **_mean(f"{path}/all_right_share", (rate == 1 for rate in rates)),
        **_mean(f"{path}/all_wrong_share", (rate == 0 for rate in rates)),
    }


def _lengths(rollouts: Sequence[Rollout], judged: Sequence[Rollout]) -> dict[str, float]:
    longest = {"length/max": float(max(len(one.tokens) for one in rollouts))} if rollouts else {}
    return {
        **_mean("length/mean", (len(one.tokens) for one in rollouts)),
        **_mean("length/right_mean", (len(one.tokens) for one in judged if one.passed)),
        **_mean("length/wrong_mean", (len(one.tokens) for one in judged if not one.passed)),
        **longest,
    }


def _by_difficulty(groups: Sequence[Group]) -> dict[str, float]:
    """Each task has labels of its own: what is hard in one says nothing of another."""
    found: dict[str, float] = {}
    for task in sorted({group.prompt.task for group in groups}):
        own = [group for group in groups if group.prompt.task == task]
        found |= _pass_rates(f"task/{path_part(task)}/difficulty", own, lambda group: group.prompt.difficulty)
    return found


def _pass_rates(path: str, groups: Sequence[Group], label_of: Callable[[Group], str]) -> dict[str, float]:
    """Pass rate of the rollouts under each label; the commonest labels where there are many."""
    counts = Counter(label_of(group) for group in groups if label_of(group))
    found: dict[str, float] = {}
    for label in sorted(name for name, _ in counts.most_common(MOST_LABELS)):
        rollouts = (one.passed for group in groups if label_of(group) == label for one in group.judged)
        found |= _mean(f"{path}/{path_part(label)}/pass_rate", rollouts)
    return found


def _mean(key: str, values: Iterable[float]) -> dict[str, float]:
    """The mean under its key; nothing of nothing, since a log that says NaN breaks what reads it."""
    numbers = np.array([float(value) for value in values])
    return {key: float(numbers.mean())} if len(numbers) else {}
