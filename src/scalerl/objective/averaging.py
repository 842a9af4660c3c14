"""Whose means the loss is a mean of: the weight of every trainable token.

All tokens of a rollout weigh the same, so one number a rollout says it. Weights are fixed for the whole optimizer
step before the first backward pass and sum to one: the loss is the plain weighted sum over tokens, however they
are split into micro-batches. What has no trainable token has no mean and is not counted in any divisor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scalerl.recipe.sections import Averaging

Counts = Sequence[NDArray[np.int64]]
"""Trainable tokens of each rollout that counts, one array a surviving group."""


def token_weights(num_trainable: Counts, averaging: Averaging) -> list[NDArray[np.float64]]:
    """Weight of each trainable token of a rollout, one array a surviving group."""
    match averaging:
        case "prompt":
            return prompt(num_trainable)
        case "sample":
            return sample(num_trainable)
        case "token":
            return token(num_trainable)


def prompt(num_trainable: Counts) -> list[NDArray[np.float64]]:
    """Mean over all tokens of a prompt's rollouts, then over prompts: 1 / (its tokens x prompts) (DAPO)."""
    num_prompts = _num_prompts(num_trainable)
    return [_where_any(counts, _inverse(counts.sum() * num_prompts)) for counts in num_trainable]


def sample(num_trainable: Counts) -> list[NDArray[np.float64]]:
    """Mean over a rollout's tokens, a prompt's rollouts, prompts: 1 / (its tokens x rollouts x prompts) (GRPO)."""
    num_prompts = _num_prompts(num_trainable)
    return [_inverse(counts * np.count_nonzero(counts) * num_prompts) for counts in num_trainable]


def token(num_trainable: Counts) -> list[NDArray[np.float64]]:
    """Mean over all tokens of the step: 1 / tokens."""
    total = sum(int(counts.sum()) for counts in num_trainable)
    return [_where_any(counts, _inverse(np.int64(total))) for counts in num_trainable]


def _num_prompts(num_trainable: Counts) -> int:
    return sum(bool(counts.any()) for counts in num_trainable)


def _where_any(counts: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(counts > 0, weight, 0.0)


def _inverse(count: NDArray[np.int64] | np.int64) -> NDArray[np.float64]:
    return np.where(np.asarray(count) > 0, 1.0 / np.maximum(count, 1), 0.0)
