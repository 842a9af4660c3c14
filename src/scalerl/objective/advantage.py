"""How much better than its group an answer was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scalerl.recipe.sections import Scale

PROMPT_EPSILON = 1e-6
"""Added to a group's standard deviation, so that a nearly flat group cannot blow up."""

Rewards = Sequence[NDArray[np.float64]]
"""Rewards of the rollouts that count, one array a surviving group."""


def advantages(rewards: Rewards, scale: Scale) -> list[NDArray[np.float64]]:
    """Rewards less their group's mean, divided by the scale of the step, of the group, or by nothing."""
    centred = [_centred(one) for one in rewards]
    match scale:
        case "batch":
            return batch(centred)
        case "prompt":
            return prompt(centred)
        case "none":
            return centred


def batch(centred: Rewards) -> list[NDArray[np.float64]]:
    """Divide by the standard deviation over all surviving rollouts of the step, each counted once (REINFORCE++).

    The mean is taken as zero, which it is in every group: centring again, or weighting by tokens, could turn the
    sign of an advantage. Where all are flat the advantages stay zero.
    """
    everyone = np.concatenate([*centred, np.zeros(0)])
    spread = float(np.sqrt(np.mean(everyone**2))) if len(everyone) else 0.0
    return [one / spread if spread > 0 else one for one in centred]


def prompt(centred: Rewards) -> list[NDArray[np.float64]]:
    """Divide by the group's own population standard deviation + 1e-6 (GRPO)."""
    return [one / (np.sqrt(np.mean(one**2)) + PROMPT_EPSILON) if len(one) else one for one in centred]


def _centred(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    # The rounded mean of equal numbers can differ from them; a flat group's advantages are exactly zero.
    if len(rewards) == 0 or np.all(rewards == rewards[0]):
        return np.zeros_like(rewards)
    return rewards - rewards.mean()
