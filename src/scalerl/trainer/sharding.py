"""A policy whose weights lie in shards, one on each rank (FSDP2), and are whole only where a layer computes.

Shards are float32 and are the master weights; a layer is gathered in the precision that the policy had, and its
gradient is summed over ranks in float32, as the micro-batches of one process are.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from transformers.core_model_loading import revert_weight_conversion

from scalerl.errors import InputError
from scalerl.model.policy import Policy
from scalerl.trainer.ranks import Ranks


class ShardedPolicy:
    """One rank's part of a policy. Whoever calls a method that computes calls it on every rank."""

    def __init__(self, policy: Policy, root: torch.nn.Module, dtype: torch.dtype, ranks: Ranks) -> None:
        self._policy = policy
        self._root = root
        self.dtype = dtype
        """Precision of the body."""
        self.ranks = ranks

    @property
    def device(self) -> torch.device:
        """Where this rank computes."""
        return self._policy.device

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Every parameter by its Hugging Face name, as this rank's float32 shard of it; tied ones once."""
        return self._policy.trainable()

    def scored(
        self,
        tokens: Int[Tensor, "row time"],
        source: Int[Tensor, " token"],
        target: Int[Tensor, " token"],
        temperature: float,
    ) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
        """Log-probability and entropy at the picked places of this rank's rows."""
        found = self._root(tokens, source, target, temperature)
        if not torch.is_grad_enabled() and isinstance(self._root, FSDPModule):
            self._root.reshard()  # else what was gathered would be taken for the weights after the next update
        return found

    def gradient_checkpointing(self, is_on: bool) -> None:
        """Recompute activations in the backward pass, or keep them."""
        self._policy.gradient_checkpointing(is_on)

    @torch.no_grad()
    def weights(self) -> Iterator[tuple[str, Tensor]]:
        """Every weight, whole, on each rank's device, in the precision of the body; one at a time is held."""
        for name, one in self.trainable().items():
            yield name, _whole(one).to(self.dtype)

    def full_weights(self) -> dict[str, Tensor]:
        """All weights on the host of the first rank, to publish or to export; nothing on the others."""
        found: dict[str, Tensor] = {}
        for name, one in self.weights():
            if self.ranks.index == 0:
                found[name] = one.to("cpu", copy=True)  # one rank on a CPU would hand out what it trains
        return found

    def saved_weights(self) -> dict[str, Tensor]:
        """The same under the names that a saved model has: transformers holds the experts of a layer in one."""
        found = self.full_weights()
        reverted = revert_weight_conversion(self._policy.module, found) if found else {}
        return {name: one.contiguous() for name, one in reverted.items()}


class _Root(torch.nn.Module):
    """Body and head in one forward pass: weights outside the layers are whole in here only."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.module = policy.module
        self._policy = policy

    def forward(self, tokens: Tensor, source: Tensor, target: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        return self._policy.scored(tokens, source, target, temperature)


def mesh_over(device: torch.device) -> DeviceMesh:
    """All processes in one line: gloo between CPUs, NCCL between GPUs."""
    return init_device_mesh(device.type, (torch.distributed.get_world_size(),))


def shard(policy: Policy, mesh: DeviceMesh) -> ShardedPolicy:
    """Cut each layer, and what is outside of layers, over the mesh; only the result may be used from here on.

    A policy that was loaded to the host never lies whole on a GPU: layers move there one by one.
    """
    dtype = _only_dtype(policy)
    root = _Root(policy)
    for layer in policy.module.base_model.layers:  # pyright: ignore[reportGeneralTypeIssues, reportAttributeAccessIssue]
        _cut(layer, mesh, dtype)  # pyright: ignore[reportArgumentType]
    _cut(root, mesh, dtype)  # embedding and head in one, because they may be tied
    ranks = Ranks(index=mesh.get_local_rank(), count=mesh.size(), group=mesh.get_group())
    return ShardedPolicy(policy, root, dtype, ranks)


def _cut(module: torch.nn.Module, mesh: DeviceMesh, dtype: torch.dtype) -> None:
    for one in module.parameters():
        if one.dtype != torch.float32:
            one.data = one.data.float()  # masters: a rate of 5e-7 vanishes in bfloat16
    precision = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    cut = fully_shard(module, mesh=mesh, mp_policy=precision)
    cut.set_gradient_divide_factor(1.0)  # normalisers are those of the whole step, so ranks add and do not average
    cut.set_force_sum_reduction_for_comms(True)


def _only_dtype(policy: Policy) -> torch.dtype:
    found = {str(one.dtype) for one in policy.trainable().values()}
    if len(found) > 1:  # gathered in one precision, some of them would compute in another than the engine's
        raise InputError(f"the model has weights in {', '.join(sorted(found))}; only one precision can be sharded")
    return policy.dtype


def _whole(parameter: torch.nn.Parameter) -> Tensor:
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
