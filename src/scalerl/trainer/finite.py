"""Stop before a number that is none reaches the weights."""

from __future__ import annotations

import math

import numpy as np

from scalerl.errors import StoppedError
from scalerl.trainer.gradient import Tokens


class NonFiniteError(StoppedError):
    """Loss or gradient of an update is not finite; weights and optimizer are as they were before it."""


def check_finite(loss: float, norm: float, tokens: Tokens, version: int) -> None:
    """Raise, in words, where loss or gradient norm is infinite or not a number."""
    quantity = "loss" if not math.isfinite(loss) else "gradient norm"
    value = loss if not math.isfinite(loss) else norm
    if math.isfinite(value):
        return
    num_bad = np.count_nonzero(~np.isfinite(tokens.loss))
    finite = tokens.log_ratio[np.isfinite(tokens.log_ratio)]
    largest = f"{np.abs(finite).max():.3g}" if len(finite) else "not finite anywhere"
    raise NonFiniteError(
        f"the {quantity} of the update at version {version} is {value}: {num_bad} of {len(tokens.loss)} trained"
        f" tokens have a loss that is not finite, the largest finite log-ratio is {largest}."
        " Weights and optimizer are as they were before this update."
    )
