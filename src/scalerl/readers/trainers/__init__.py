"""The trainers whose logs are known, and the one that a log comes from."""

from __future__ import annotations

from scalerl.readers.trainers.nemo_rl import NEMO_RL
from scalerl.readers.trainers.openrlhf import OPENRLHF
from scalerl.readers.trainers.ours import OURS
from scalerl.readers.trainers.skyrl import SKYRL
from scalerl.readers.trainers.tinker import TINKER
from scalerl.readers.trainers.trainer import Trainer
from scalerl.readers.trainers.trl import TRL
from scalerl.readers.trainers.verl import VERL

TRAINERS = (OURS, VERL, NEMO_RL, OPENRLHF, SKYRL, TINKER, TRL)
UNKNOWN = Trainer(
    name="an unknown trainer",
    marks=(),
    held_out=(
        r"eval/[^/]+/pass_rate",
        r"(val|eval|validation|test|heldout|held_out)[-_/].*(acc|pass|correct|solve|success).*",
        r"(val|eval|validation|test|heldout|held_out)[-_/].*(score|reward).*",
    ),
    mean_rewards=r".*(score|reward).*",
    training=(r"(train[-_/])?.*reward.*",),
)


def trainer_of(keys: set[str]) -> Trainer:
    """Tell which trainer wrote a log, by the keys it holds."""
    best = max(TRAINERS, key=lambda trainer: trainer.num_marks(keys))
    return best if best.num_marks(keys) else UNKNOWN
