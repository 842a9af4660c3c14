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
from scalerl.trainer.ranks import ALONE, Ranks


class Trainable(Protocol):
    """A causal language model: `scalerl.model.policy.Policy`, or the shards of one."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        ...

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Every parameter by name, tied ones once."""
        ...

    def scored(
        self,
        tokens: Int[Tensor, "row time"],
        source: Int[Tensor, " token"],
        target: Int[Tensor, " token"],
        temperature: float,
    ) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
        """Log-probability of each target, and entropy of its distribution; only the first carries a gradient.

        Rows are padded on the right; `source` says where, in the flattened rows, the hidden state stands.
        """
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
    log_prob, entropy = policy.scored(here(batch.tokens), here(batch.source), target, temperature)
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


def gathered(passed: Sequence[Passed], ranks: Ranks = ALONE) -> Tokens:
    """Bring what the micro-batches of all ranks left behind to the host, once, in the order of the step's rows."""
    device = passed[0].loss.device
    order = torch.from_numpy(np.concatenate([one.order for one in passed])).to(device)
    seen = torch.zeros(5, int(ranks.added(torch.tensor(len(order), device=device))), device=device)
    seen[:, order] = torch.cat([_seen(one) for one in passed], 1)
    loss, log_ratio, entropy, is_low, is_high = ranks.added(seen).cpu().numpy()  # zero where it is another rank's
    return Tokens(
        loss=loss, log_ratio=log_ratio, entropy=entropy, is_low=is_low.astype(bool), is_high=is_high.astype(bool)
    )


def _seen(one: Passed) -> Float[Tensor, "quantity token"]:
    return torch.stack([each.float() for each in (one.loss, one.log_ratio, one.entropy, one.is_low, one.is_high)])
