"""The processes that make one update together: which micro-batches are whose, and how their findings meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch.distributed
from torch import Tensor
from torch.distributed import ProcessGroup

from scalerl.trainer.batch import MicroBatch


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranks:
    """One process's place among those that hold the shards of a policy; alone unless told otherwise."""

    index: int = 0
    count: int = 1
    group: ProcessGroup | None = None

    def share(self, batches: Sequence[MicroBatch]) -> list[MicroBatch]:
        """Every `count`-th micro-batch, so that those computed at the same time are of nearly one length.

        A forward and a backward pass gather shards from all ranks, so each rank makes as many: where micro-batches
        run out, an empty one, whose gradient is zero, fills the place.
        """
        own = list(batches[self.index :: self.count])
        return own if len(own) == -(-len(batches) // self.count) else [*own, _empty()]

    def added(self, values: Tensor) -> Tensor:
        """The sum over all ranks, on each of them, in place."""
        if self.count > 1:
            torch.distributed.all_reduce(values, group=self.group)
        return values

    def check_agreed(self, number: int, device: torch.device) -> None:
        """Fail on every rank where one has another number: they would train on two batches or wait for ever."""
        extremes = torch.tensor([number, -number], device=device)
        torch.distributed.all_reduce(extremes, torch.distributed.ReduceOp.MAX, group=self.group)
        assert not extremes.sum(), "ranks were called with different groups, versions or numbers of steps"


ALONE = Ranks()
"""A process that holds the whole policy."""


def _empty() -> MicroBatch:
    """One padding token and nothing to learn from it."""
    number, value = np.zeros(0, np.int64), np.zeros(0, np.float32)
    return MicroBatch(
        tokens=np.zeros((1, 1), np.int64),
        source=number,
        target=number,
        rollout=number,
        behavior=value,
        advantage=value,
        weight=value,
        order=number,
    )
