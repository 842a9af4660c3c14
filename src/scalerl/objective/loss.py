"""What is descended: the loss of every trainable token, to be multiplied by its weight and summed.

One ratio enters, trainer now over generator then, and it is bounded once; there is no second importance factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from scalerl.errors import InputError
from scalerl.recipe.losses import Cispo, Dapo, Grpo, Gspo, Loss, Reinforce

PerToken = Float[Tensor, "token"]
Flags = Bool[Tensor, "token"]
Numbers = Int[Tensor, "token"]

LARGEST_LOG_RATIO = 20.0
"""Ratios stop at e^20 and carry no gradient beyond, so that none is infinite: a clamp after the fact would leave
0 x inf in the backward pass."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLoss:
    """Losses of tokens, and which of them a bound has touched."""

    loss: PerToken
    is_low: Flags
    """Clipped below: its gradient is zero."""
    is_high: Flags
    """Clipped above, or its weight capped (cispo)."""


LossFunction = Callable[[Tensor, Tensor, Tensor, Tensor], TokenLoss]
"""From policy, behavior, advantage and rollout number of each token to its loss."""


def loss_of(recipe: Loss) -> LossFunction:
    """The function that a recipe's loss section names, with its numbers."""
    match recipe:
        case Cispo():
            return _without_rollout(partial(cispo, cap=recipe.cap))
        case Dapo():
            return _without_rollout(partial(dapo, clip_low=recipe.clip_low, clip_high=recipe.clip_high))
        case Grpo():
            return _without_rollout(partial(grpo, clip=recipe.clip))
        case Gspo():
            return partial(gspo, clip_low=recipe.clip_low, clip_high=recipe.clip_high)
        case Reinforce():
            return _without_rollout(reinforce)


def cispo(
    policy: PerToken,
    behavior: PerToken,
    advantage: PerToken,
    *,
    cap: float,
) -> TokenLoss:
    """REINFORCE with the capped ratio as a constant weight: -stop(min(ratio, cap)) A log policy (MiniMax-M1).

    The cap is absolute, not an offset to 1; no token's gradient is ever zeroed by it.
    """
    if not cap >= 1:
        raise InputError(
            f"loss.cap is {cap}; expected at least 1: it bounds the ratio itself and is no offset to 1"
        )
    ratio = _ratio(policy - behavior).detach()
    is_high = ratio > cap
    loss = _policy_gradient(policy, ratio.clamp(max=cap) * advantage)
    return TokenLoss(loss=loss, is_low=torch.zeros_like(is_high), is_high=is_high)


def dapo(
    policy: PerToken,
    behavior: PerToken,
    advantage: PerToken,
    *,
    clip_low: float,
    clip_high: float,
) -> TokenLoss:
    """The clipped surrogate, wider above: -min(ratio A, clip(ratio, 1 - low, 1 + high) A) (DAPO, equation 8)."""
    return _clipped(policy - behavior, advantage, clip_low, clip_high)


def grpo(
    policy: PerToken,
    behavior: PerToken,
    advantage: PerToken,
    *,
    clip: float,
) -> TokenLoss:
    """The clipped surrogate with one clip on both sides (PPO, GRPO)."""
    return dapo(policy, behavior, advantage, clip_low=clip, clip_high=clip)


def gspo(
    policy: PerToken,
    behavior: PerToken,
    advantage: PerToken,
    rollout: Numbers,
    *,
    clip_low: float,
    clip_high: float,
) -> TokenLoss:
    """The clipped surrogate on exp(mean log-ratio over a rollout's trainable tokens) (GSPO, arXiv 2507.18071).

    All tokens of a rollout are given together and share its advantage; its number is below the number of tokens.
    """
    log_ratio = policy - behavior
    total = torch.zeros_like(log_ratio).index_add(0, rollout, log_ratio)
    count = torch.zeros_like(behavior).index_add(0, rollout, torch.ones_like(behavior))
    return _clipped((total / count.clamp(min=1)).index_select(0, rollout), advantage, clip_low, clip_high)


def reinforce(policy: PerToken, behavior: PerToken, advantage: PerToken) -> TokenLoss:
    """The plain policy gradient, for reference: -advantage log policy, whoever sampled the token."""
    nowhere = torch.zeros_like(behavior, dtype=torch.bool)
    return TokenLoss(loss=_policy_gradient(policy, advantage), is_low=nowhere, is_high=nowhere)


def _ratio(log_ratio: Tensor) -> Tensor:
    return log_ratio.clamp(max=LARGEST_LOG_RATIO).exp()


def _policy_gradient(policy: Tensor, weight: Tensor) -> Tensor:
    # A token that has become impossible has log-probability -inf and ratio 0: without `where` their product is NaN.
    return -torch.where(weight == 0, 0.0, weight * policy)


def _clipped(log_ratio: Tensor, advantage: Tensor, clip_low: float, clip_high: float) -> TokenLoss:
    ratio = _ratio(log_ratio)
    is_high = (ratio > 1 + clip_high) & (advantage > 0)
    is_low = (ratio < 1 - clip_low) & (advantage < 0)
    bounded = torch.where(is_high, 1 + clip_high, torch.where(is_low, 1 - clip_low, ratio))
    return TokenLoss(loss=-advantage * bounded, is_low=is_low, is_high=is_high)


def _without_rollout(loss: Callable[[Tensor, Tensor, Tensor], TokenLoss]) -> LossFunction:
    return lambda policy, behavior, advantage, _rollout: loss(policy, behavior, advantage)
