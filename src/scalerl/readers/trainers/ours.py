"""Metrics of this project in TensorBoard or W&B: `eval/<task>/pass_rate`, `compute/tokens`."""

from __future__ import annotations

from scalerl.readers.trainers.trainer import Trainer, first

OURS = Trainer(
    name="scalerl",
    marks=(r"compute/tokens", r"compute/gpu_hours", r"compute/flops"),
    held_out=(r"eval/[^/]+/pass_rate",),
    training=(r"reward/pass_rate",),
    tokens=lambda row: first(row, "compute/tokens"),
    tokens_are_total=True,
)
