"""TRL: `eval_reward`, `step_time`, `num_tokens`; W&B and TensorBoard put `eval/` or `train/` before."""

from __future__ import annotations

from scalerl.readers.trainers.trainer import Trainer, first

TRL = Trainer(
    name="TRL",
    marks=(
        r"(train/)?reward_std",
        r"(train/)?frac_reward_zero_std",
        r"(train/|eval_|eval/)?num_tokens",
        r"(train/)?completions/mean_length|(train/)?completion_length",
        r"eval[_/]reward",
        r"(train/)?rewards/.+",
        r"eval[_/]rewards/.+",
    ),
    held_out=(
        r"eval[_/]rewards/[^/]*(?i:acc|correct)[^/]*(/mean)?",
        r"eval[_/]reward",
        r"eval[_/]rewards/[^/]+(/mean)?",
    ),
    mean_rewards=r".*",
    training=(r"(train/)?reward", r"(train/)?rewards/[^/]+(/mean)?"),
    # A logged step_time is the mean over the optimizer steps since the row before; evaluation is timed apart.
    seconds=lambda row: first(row, "step_time", "train/step_time"),
    seconds_are_means=True,
    tokens=lambda row: first(row, "num_tokens", "train/num_tokens", "eval_num_tokens", "eval/num_tokens"),
    tokens_are_total=True,
)
