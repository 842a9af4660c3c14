"""How large a model is, in parameters, in bytes a token, and in what a run of it will hold."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PretrainedConfig

from scalerl.model.policy import Policy


def num_parameters(policy: Policy) -> int:
    """All parameters, tied ones once."""
    return sum(one.numel() for one in policy.trainable().values())


def num_active_parameters(policy: Policy) -> int:
    """Parameters that one token passes through: of the experts of a mixture only those it is routed to."""
    config = policy.module.config
    experts = sum(one.numel() for name, one in policy.trainable().items() if ".experts." in name)
    chosen, there = _routing(config)
    return num_parameters(policy) - experts + (experts * chosen // there if there else 0)


def is_mixture(policy: Policy) -> bool:
    """Whether the model has experts."""
    return _routing(policy.module.config)[1] > 0


def bytes_per_cached_token(policy: Policy) -> int:
    """Keys and values of one token in all layers."""
    config: Any = policy.module.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return 2 * config.num_hidden_layers * heads * width * policy.dtype.itemsize


def bytes_of_training(policy: Policy) -> int:
    """Weights, gradients, two moments and, for a body in bfloat16, float32 masters and gradients."""
    parameters = num_parameters(policy)
    is_half = policy.dtype != torch.float32
    return parameters * ((2 + 2 + 4 + 4 + 8) if is_half else (4 + 4 + 8))


def _routing(config: PretrainedConfig) -> tuple[int, int]:
    """Experts a token is routed to, and experts there are; zero where the model has none."""
    named = config.to_dict()
    there = next(
        (named[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if named.get(key)), 0
    )
    return int(named.get("num_experts_per_tok") or there), int(there)
