"""Models of a few thousand parameters, made from configs: the shapes that engine and trainer must know."""

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy

SHAPE = dict(
    vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=8, max_position_embeddings=128, initializer_range=0.3,
    bos_token_id=None, eos_token_id=1, pad_token_id=0,
)  # fmt: skip


def _made(kind, config, **more):
    torch.manual_seed(0)
    made = config(**{**SHAPE, **more})
    made._attn_implementation = NAME
    return kind(made).eval()


def qwen3(**more):
    return _made(Qwen3ForCausalLM, Qwen3Config, **{"tie_word_embeddings": True, **more})


def llama(**more):
    return _made(LlamaForCausalLM, LlamaConfig, **{"tie_word_embeddings": False, **more})


def experts(**more):
    shape = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "decoder_sparse_step": 1}
    return _made(Qwen3MoeForCausalLM, Qwen3MoeConfig, **{"tie_word_embeddings": False, **shape, **more})


SHAPES = {"qwen3": qwen3, "llama": llama, "experts": experts}


def policy(kind="qwen3", **options):
    return Policy(SHAPES[kind](), **options)
