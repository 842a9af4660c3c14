"""NeMo RL: `validation/accuracy`, `timing/train/total_step_time`, `train/total_num_tokens`."""

from __future__ import annotations

import math

from scalerl.readers.trainers.trainer import Row, Trainer, first

_PER_GPU = ("performance/tokens_per_sec_per_gpu", "train/tokens_per_sec_per_gpu")


def _seconds(row: Row) -> float:
    return first(row, "timing/train/total_step_time")


def _evaluation_seconds(row: Row) -> float:
    """Give the validation's seconds, which the step's time holds; NaN where they are not logged."""
    if not any(key.startswith("validation") for key in row):
        return 0.0
    return first(row, "timing/validation/total_validation_time")


def _gpus(row: Row) -> float:
    per_gpu, all_gpus = first(row, *_PER_GPU), first(row, "performance/tokens_per_sec")
    if math.isnan(all_gpus):
        all_gpus = first(row, "train/total_num_tokens") / (_seconds(row) or math.nan)
    return all_gpus / per_gpu if per_gpu > 0 else math.nan


NEMO_RL = Trainer(
    name="NeMo RL",
    marks=(
        r"timing/train/total_step_time",
        r"validation[^/]*/accuracy",
        r"train/total_num_tokens",
        r"performance/.+",
    ),
    held_out=(r"validation/accuracy", r"validation[^/]*/accuracy"),
    mean_rewards=r".*",
    training=(r"train/reward",),
    seconds=_seconds,
    evaluation_seconds=_evaluation_seconds,
    tokens=lambda row: first(row, "train/total_num_tokens"),
    gpus=_gpus,
)
