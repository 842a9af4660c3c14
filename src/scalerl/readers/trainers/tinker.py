"""tinker-cookbook: `test/env/all/correct`, `time/total`, `env/all/total_ac_tokens`."""

from __future__ import annotations

from scalerl.readers.trainers.trainer import Row, Trainer, first


def _evaluation_seconds(row: Row) -> float:
    """Give the evaluation's seconds, which the step's time holds; NaN where they are not logged."""
    if not any(key.startswith("test/") for key in row):
        return 0.0
    return first(row, "time/run_evals", "time/run_evals:total")


def _num_samples(row: Row, key: str) -> float:
    """Take the episodes of the environment that the key belongs to."""
    parts = key.split("/")
    return first(row, *("/".join([*parts[:depth], "total_episodes"]) for depth in range(len(parts), 0, -1)))


TINKER = Trainer(
    name="tinker",
    marks=(r"progress/(batch|done_frac)", r"env/all/.+", r"test/env/.+", r"time/total", r"optim/lr"),
    held_out=(
        r"test/env/all/correct",
        r"test/.+/correct",
        r"test/.*(acc|pass|score).*",
        r"test/env/all/reward/total",
    ),
    mean_rewards=r"test/.*(reward|score).*",
    training=(r"env/all/correct", r"env/all/reward/total"),
    seconds=lambda row: first(row, "time/total"),
    evaluation_seconds=_evaluation_seconds,
    tokens=lambda row: first(row, "env/all/total_ac_tokens"),
    num_samples=_num_samples,
    # A row's step counts from zero, and its evaluation ran before its batch was trained on.
    evaluates_first=True,
)
