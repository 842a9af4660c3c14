"""verl: `val-core/<source>/acc/mean@N`, `timing_s/step`, `perf/total_num_tokens`."""

from __future__ import annotations

import math

from scalerl.readers.trainers.trainer import Row, Trainer, first

# Parts of a step that do not overlap.
_PARTS = ("gen", "reward", "old_log_prob", "ref", "values", "adv", "update_critic", "update_actor")


def _seconds(row: Row) -> float:
    return first(row, "timing_s/step", "perf/time_per_step")


def _evaluation_seconds(row: Row) -> float:
    """Tell from the parts of a step whether the step holds the testing: versions differ."""
    testing, step = first(row, "timing_s/testing"), _seconds(row)
    if not testing > 0 or testing > step:
        return 0.0
    parts = [row[key] for part in _PARTS if math.isfinite(row.get(key := f"timing_s/{part}", math.nan))]
    if not parts:
        return math.nan
    return testing if step >= testing + sum(parts) else 0.0


def _gpus(row: Row) -> float:
    tokens = first(row, "perf/total_num_tokens")
    per_gpu = first(row, "perf/throughput") * first(row, "perf/time_per_step", "timing_s/step")
    return tokens / per_gpu if per_gpu > 0 else math.nan


VERL = Trainer(
    name="verl",
    marks=(
        r"timing_s/.+",
        r"perf/total_num_tokens",
        r"val-(core|aux)/.+",
        r"val/test_score/.+",
        r"actor/.+",
        r"critic/(score|rewards)/.+",
    ),
    held_out=(
        r"val-core/.+/acc/mean@\d+",
        r"val-core/.+/(reward|score)/mean@\d+",
        r"val-core/.+/mean@\d+",
        r"val-aux/.+/acc/mean@\d+",
        r"val/test_score/.+",
        r"val-aux/.+/(reward|score)/mean@\d+",
    ),
    mean_rewards=r"val-(core|aux)/.+/(reward|score)/mean@\d+|val/test_score/.+",
    training=(r"critic/score/mean", r"critic/rewards/mean"),
    seconds=_seconds,
    evaluation_seconds=_evaluation_seconds,
    tokens=lambda row: first(row, "perf/total_num_tokens"),
    gpus=_gpus,
)
