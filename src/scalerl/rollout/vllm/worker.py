"""What runs inside vLLM's workers: loading weights, a checksum over them, and dying with the parent.

vLLM imports this file by name in its own processes.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import select
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import Module

from scalerl.rollout.vllm.options import PARENT

_PR_SET_PDEATHSIG = 1


class WeightWorker:
    """Methods that vLLM mixes into its worker class; each is called by name on every rank."""

    model_runner: Any
    reload_weights: Any

    def scalerl_follow(self, parent: int) -> None:
        """Die with the process that started the engine."""
        follow(parent)

    def scalerl_load(self, weights: str) -> None:
        """Load a whole model from a safetensors file; the engine is paused and has looked at it."""
        model: Module = self.model_runner.get_model()
        tensors = _tensors(weights)
        _forget_packed_experts(model)
        self.reload_weights(weights_iterator=tensors)
        _repack_tied_head(model)

    def scalerl_checksum(self) -> str:
        """Of the weights that this rank computes with."""
        return checksum(self.model_runner.get_model())


def _tensors(weights: str) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors; the file is opened at once and read as it is loaded."""
    file: Any = safe_open(weights, framework="pt")
    return ((name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118, it is not a dict


def _forget_packed_experts(model: Module) -> None:
    """On a CPU vLLM packs the weights of experts only when it builds their kernel: have it built again."""
    for layer in model.modules():
        method: Any = getattr(layer, "quant_method", None)
        if getattr(method, "moe_kernel", None) is not None and next(layer.parameters()).device.type == "cpu":
            method.moe_kernel = None


def _repack_tied_head(model: Module) -> None:
    """On a CPU vLLM multiplies by a packed copy of the head, which it forgets when the head is the embedding."""
    head: Any = getattr(model, "lm_head", None)
    if hasattr(head, "cpu_linear") and head.weight.numel():
        head.quant_method.process_weights_after_loading(head)


def checksum(model: Module) -> str:
    """SHA-256 over the names, shapes and bytes of all weights."""
    total = hashlib.sha256()
    for name, tensor in sorted(_held(model), key=lambda one: one[0]):
        kept = tensor.detach().cpu().contiguous()
        total.update(f"{name} {tuple(kept.shape)} {kept.dtype}".encode())
        total.update(kept.view(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()


def _held(model: Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters, and what layers on a CPU really multiply by: packed copies, instead of them or beside them."""
    for name, parameter in model.named_parameters():
        if parameter.numel():
            yield name, parameter
    for name, layer in model.named_modules():
        if hasattr(layer, "cpu_linear"):
            yield f"{name} as packed", _unpacked(layer)


@torch.inference_mode()
def _unpacked(layer: Module) -> Tensor:
    """The weights in a packed layer: it maps the unit vectors to them, exactly."""
    packed: Any = layer
    names = ("input_size_per_partition", "input_size", "embedding_dim")
    width = next(getattr(packed, name) for name in names if hasattr(packed, name))
    unit = torch.eye(width, dtype=packed.params_dtype)
    return packed.cpu_linear(unit, packed.weight, None)


def follow(parent: int) -> None:
    """Have the kernel kill this process when its own parent dies.

    With several ranks a process of vLLM's stands between; then this one watches and takes that one along.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    between = os.getppid()
    if between == parent:
        return
    try:
        handle = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)  # it died before we could ask
    if _parent_of(between) == parent:
        threading.Thread(target=_watch, args=(handle, between), daemon=True).start()


def _parent_of(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


def _watch(handle: int, between: int) -> None:
    """Wait for an ancestor's end, then end the process between it and us; ours follows."""
    end = select.poll()
    end.register(handle, select.POLLIN)
    end.poll()
    os.kill(between, signal.SIGKILL)


# The parent may die while vLLM still loads, before it can ask for this.
if PARENT in os.environ and os.environ[PARENT] != str(os.getpid()):
    follow(int(os.environ[PARENT]))
