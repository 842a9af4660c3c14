"""What a step says of itself: numbers under path keys, each with a line in docs/metrics.md.

What is not known is absent: no key ever holds NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.metrics_cost import Reading, cost_metrics
from scalerl.pipeline.metrics_rollouts import path_part, rollout_metrics
from scalerl.pipeline.metrics_update import update_metrics
from scalerl.records import Group

if TYPE_CHECKING:
    from scalerl.trainer.update_report import UpdateReport


def step_metrics(
    groups: Sequence[Group],
    update: UpdateReport,
    *,
    before: Reading,
    after: Reading,
    curriculum: Curriculum,
    tasks: Sequence[str],
    kl_to_start: float | None = None,
) -> dict[str, float]:
    """Say everything about one step: what was sampled, what the update did, what it cost, what is left to ask."""
    return known(
        {
            **rollout_metrics(groups),
            **update_metrics(update),
            **cost_metrics(before, after),
            **pool_metrics(curriculum, tasks),
            **({} if kl_to_start is None else {"kl/start": kl_to_start}),
        }
    )


def pool_metrics(curriculum: Curriculum, tasks: Sequence[str]) -> dict[str, float]:
    """Say how many prompts each task still asks."""
    found: dict[str, float] = {}
    for task in tasks:
        path = f"pool/{path_part(task)}"
        found |= {
            f"{path}/size": curriculum.pool_size(task),
            f"{path}/retired": curriculum.num_retired(task),
            f"{path}/epoch": curriculum.epoch(task),
        }
    return found


def known(metrics: Mapping[str, float]) -> dict[str, float]:
    """Leave out what is not a finite number.

    >>> known({"a": 1.0, "b": float("nan")})
    {'a': 1.0}
    """
    return {key: value for key, value in metrics.items() if math.isfinite(value)}
