"""Forward and backward through one micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from scalerl.objective.loss import LossFunction
from scalerl.trainer.batch import MicroBatch


class Trainable(Protocol):
    """A causal language model split into its body and its head, as `scalerl.model.policy.Policy` is."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        ...

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Every parameter by name, tied ones once."""
        ...

    def hidden(self, tokens: Int[Tensor, "row time"]) -> Float[Tensor, "row time width"]:
        """Last hidden states, causal over rows padded on the right."""
        ...

    def log_probs(
        self, hidden: Float[Tensor, "token width"], targets: Int[Tensor, " token"], temperature: float
    ) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
        """Log-probability of each target and entropy of its distribution; only the first carries a gradient."""
        ...

    def gradient_checkpointing(self, is_on: bool) -> None:
        """Recompute activations in the backward pass, or keep them."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """What one micro-batch leaves behind, on the device: nothing has waited for it yet."""

    order: NDArray[np.int64]
    total: Float[Tensor, ""]
    """Its share of the step's loss."""
    loss: Float[Tensor, " token"]
    """Of each trainable token, as are the ones below."""
    log_ratio: Float[Tensor, " token"]
    entropy: Float[Tensor, " token"]
    is_low: Bool[Tensor, " token"]
    is_high: Bool[Tensor, " token"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """What was seen of every trainable token of a step, in the order of its rows."""

    loss: NDArray[np.float32]
    log_ratio: NDArray[np.float32]
    entropy: NDArray[np.float32]
    is_low: NDArray[np.bool_]
    is_high: NDArray[np.bool_]


def backward(policy: Trainable, batch: MicroBatch, loss: LossFunction, temperature: float) -> Passed:
    """Add a micro-batch's share of the gradient to the parameters; logits are made at trainable tokens only."""

    def here(values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values).to(policy.device)

    behavior, target = here(batch.behavior), here(batch.target)
    hidden = policy.hidden(here(batch.tokens)).flatten(0, 1).index_select(0, here(batch.source))
    log_prob, entropy = policy.log_probs(hidden, target, temperature)
    found = loss(log_prob, behavior, here(batch.advantage), here(batch.rollout))
    total = (found.loss * here(batch.weight)).sum()
    total.backward()
    return Passed(
        order=batch.order,
        total=total.detach(),
        loss=found.loss.detach(),
        log_ratio=log_prob.detach() - behavior,
        entropy=entropy.detach(),
        is_low=found.is_low,
        is_high=found.is_high,
    )


def gathered(passed: Sequence[Passed]) -> Tokens:
    """Bring what the micro-batches left behind to the host, once, in the order of the step's rows."""
    place = np.argsort(np.concatenate([one.order for one in passed]))

    def in_order(parts: Sequence[Tensor]) -> NDArray[np.generic]:
        return torch.cat(list(parts)).cpu().numpy()[place]

    return Tokens(
        loss=in_order([one.loss for one in passed]).astype(np.float32),
        log_ratio=in_order([one.log_ratio for one in passed]).astype(np.float32),
        entropy=in_order([one.entropy for one in passed]).astype(np.float32),
        is_low=in_order([one.is_low for one in passed]).astype(np.bool_),
        is_high=in_order([one.is_high for one in passed]).astype(np.bool_),
    )
