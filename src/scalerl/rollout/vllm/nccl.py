"""Weights over NCCL by vLLM's own weight transfer, for GPUs.

NOT RUN: no GPU was at hand. Written to the interface of vLLM 0.32 (`vllm.distributed.weight_transfer`). The first
rank of the trainer is rank 0 of one group, the ranks of all engines follow; all engines `receive` at the same time.
An engine that takes part is started with `VllmOptions.uses_nccl`.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, Protocol

from torch.nn import Module

from scalerl.rollout.vllm.engine import UpdateTimes, VllmEngine


class Sender(Protocol):
    """The trainer's side of vLLM's weight transfer."""

    def send_weights(self) -> None:
        """Broadcast all weights; called on every rank of the trainer."""
        ...


async def join(engine: VllmEngine, init_info: dict[str, Any], *, first_rank: int, timeout: float) -> None:
    """Meet the trainer: `init_info` as its side sends it, and the rank of this engine's first worker."""
    base = import_module("vllm.distributed.weight_transfer.base")
    request = base.WeightTransferInitRequest(init_info={**init_info, "rank_offset": first_rank})
    await asyncio.wait_for(engine.vllm.init_weight_transfer_engine(request), timeout)


async def receive(engine: VllmEngine, version: int, update_info: dict[str, Any], *, timeout: float) -> UpdateTimes:
    """Take up weights that the trainer broadcasts: `names`, `dtype_names` and `shapes` as its side sends them."""
    engine.refuse_unlike(
        {name: tuple(shape) for name, shape in zip(update_info["names"], update_info["shapes"], strict=True)}
    )
    base = import_module("vllm.distributed.weight_transfer.base")

    async def load() -> None:
        await engine.vllm.start_weight_update()
        await engine.vllm.update_weights(base.WeightTransferUpdateRequest(update_info=update_info))
        await engine.vllm.finish_weight_update()

    return await engine.change(version, load, timeout)


def sender(module: Module, client: object, *, address: str, port: int, world_size: int, rank: int) -> Sender:
    """The trainer's side: its `send_weights()` broadcasts a model's parameters, gathered from their shards.

    It calls four methods of `client`: `init_weight_transfer_engine(init_info)` should `join` every engine at its
    own rank, `update_weights(update_info)` should `receive` in every engine; `start_weight_update()` and
    `finish_weight_update()` have nothing left to do.
    """
    base = import_module("vllm.distributed.weight_transfer.base")
    factory = import_module("vllm.distributed.weight_transfer.factory")
    nccl = import_module("vllm.distributed.weight_transfer.nccl_engine")
    info = nccl.NCCLTrainerInitInfo(master_address=address, master_port=port, world_size=world_size, rank=rank)
    return factory.WeightTransferTrainerFactory.trainer_init(info, client=client, source=base.ModuleSource(module))
