"""SkyRL: `eval/all/avg_score`, `timing/step`, generated tokens from mean length and number of sequences."""

from __future__ import annotations

from scalerl.readers.trainers.trainer import Trainer, first

SKYRL = Trainer(
    name="SkyRL",
    marks=(
        r"generate/avg_num_tokens",
        r"generate/batch_num_seq",
        r"eval/.+/avg_score",
        r"timing/step",
        r"reward/avg_raw_reward",
    ),
    held_out=(r"eval/all/avg_score", r"eval/.+/avg_score"),
    mean_rewards=r".*",
    training=(r"reward/avg_raw_reward",),
    seconds=lambda row: first(row, "timing/step"),
    tokens=lambda row: first(row, "generate/avg_num_tokens") * first(row, "generate/batch_num_seq"),
)
