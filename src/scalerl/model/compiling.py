"""Decoder layers fused by torch's compiler, for as long as a graph of them is captured."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from scalerl.model.policy import Policy


@contextmanager
def compiled_layers(policy: Policy) -> Generator[None]:
    """Compile every decoder layer inside the block, and leave the model as it was.

    Layers share one compilation, because attention, which knows its layer, stays outside. Roundings of bfloat16 are
    kept where the uncompiled trainer has them, so that both compute the same numbers.
    """
    layers = list(policy.module.base_model.layers)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue, reportUnknownVariableType]
    kept = [layer.forward for layer in layers]
    for layer in layers:
        layer.forward = torch.compile(layer.forward, dynamic=False, options={"emulate_precision_casts": True})
    try:
        yield
    finally:
        for layer, forward in zip(layers, kept, strict=True):
            layer.forward = forward
