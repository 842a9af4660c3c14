"""OpenRLHF: `eval/eval_<source>_pass1`, `train/timing/step_total`."""

from __future__ import annotations

import math
import re

from scalerl.readers.trainers.trainer import Row, Trainer, first

_PASS1 = r"eval/eval_.+_pass1"


def _num_samples(row: Row, key: str) -> float:
    """Take the logged count where one source stands behind it: it is the sum over all sources."""
    sources = [other for other in row if re.fullmatch(_PASS1, other)]
    return first(row, "eval/eval_num_samples") if sources == [key] else math.nan


OPENRLHF = Trainer(
    name="OpenRLHF",
    marks=(
        r"train/timing/step_total",
        r"eval/eval_.+_pass\d+",
        r"train/policy_loss",
        r"train/response_length",
    ),
    held_out=(_PASS1,),
    # pass1 is the mean of the rewards of a prompt's answers.
    mean_rewards=_PASS1,
    training=(r"train/reward",),
    seconds=lambda row: first(row, "train/timing/step_total"),
    num_samples=_num_samples,
)
