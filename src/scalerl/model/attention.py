"""One attention for training, prefill and decoding, put into any Hugging Face model through its own interface."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "scalerl"
"""What a model's `attn_implementation` is set to. No mask is made for a name the library does not know."""


class Cached(Protocol):
    """Something that keeps the keys and values of a layer and attends over what it has kept."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Keep the new keys and values (row head time width) and attend; the answer is row time head width."""
        ...


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    cached: Cached | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Causal attention over right-padded rows, or over kept keys where the model is called with `cached`."""
    if cached is not None:
        return _attend(cached, module, query, key, value, scaling), None  # pyright: ignore[reportCallIssue]
    return causal(query, key, value, scaling), None


@torch.compiler.disable
def _attend(
    cached: Cached, module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor, scale: float
) -> Tensor:
    """Stays out of compiled layers: it knows which layer it is in, and would make each of them another."""
    return cached.attend(int(module.layer_idx), query, key, value, scale)  # pyright: ignore[reportArgumentType]


def causal(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Plain causal attention; rows are padded on the right, so no real token ever sees padding."""
    is_grouped = key.shape[1] != query.shape[1]
    found = scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale, enable_gqa=is_grouped)
    return found.transpose(1, 2).contiguous()


AttentionInterface.register(NAME, attention)
