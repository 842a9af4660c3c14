"""Weights over NCCL by vLLM's own weight transfer, for GPUs.

NOT RUN BETWEEN GPUS: written to the interface of vLLM 0.32 (`vllm.distributed.weight_transfer`); tests drive vLLM's
own sender and an engine's calls without the wire between them. The first rank of the trainer is rank 0 of a group,
the ranks of all engines follow; all engines `receive` at the same time. One that takes part is started with
`VllmOptions.uses_nccl`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor

from scalerl.rollout.vllm.engine import UpdateTimes, VllmEngine


class Sender(Protocol):
    """The trainer's side of vLLM's weight transfer."""

    def send_weights(self) -> None:
        """Broadcast all weights; called on every rank of the trainer."""
        ...


class Sent(Protocol):
    """A model whose weights can be sent, one whole tensor at a time, on every rank alike."""

    dtype: torch.dtype

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Every parameter by its Hugging Face name; its shape is the whole one."""
        ...

    def weights(self) -> Iterator[tuple[str, Tensor]]:
        """The same in the same order, gathered, in `dtype`."""
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


def sender(model: Sent, client: object, *, address: tuple[str, int], world_size: int, rank: int) -> Sender:
    """The trainer's side: its `send_weights()` broadcasts a model's weights, gathered from their shards.

    It calls four methods of `client`: `init_weight_transfer_engine(init_info)` should `join` every engine at its
    own rank, `update_weights(update_info)` should `receive` in every engine; `start_weight_update()` and
    `finish_weight_update()` have nothing left to do.
    """
    factory = import_module("vllm.distributed.weight_transfer.factory")
    nccl = import_module("vllm.distributed.weight_transfer.nccl_engine")
    host, port = address
    info = nccl.NCCLTrainerInitInfo(master_address=host, master_port=port, world_size=world_size, rank=rank)
    return factory.WeightTransferTrainerFactory.trainer_init(info, client=client, source=_source(model))


def _source(model: Sent) -> object:
    base = import_module("vllm.distributed.weight_transfer.base")

    class Source(base.WeightSource):
        """vLLM's view of the model."""

        def metadata(self) -> list[Any]:
            return [
                base.ParamMeta(name=name, dtype=model.dtype, shape=tuple(one.shape))
                for name, one in model.trainable().items()
            ]

        def __iter__(self) -> Iterator[tuple[str, Tensor]]:
            return model.weights()

    return Source()
