"""Small models in shapes that vLLM computes on a CPU, and what transformers says of their tokens."""

import asyncio

import numpy as np
import torch
from transformers import (
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from scalerl.rollout.vllm.engine import VllmEngine
from scalerl.rollout.vllm.options import VllmOptions

VOCABULARY, STOP, CLOSE, PHRASE = 64, 1, 2, (5, 6, 2)
SHAPE = dict(
    vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, head_dim=32, max_position_embeddings=2048, initializer_range=0.1,
    bos_token_id=None, eos_token_id=STOP, pad_token_id=0,
)  # fmt: skip
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=48, decoder_sparse_step=1)
KINDS = {
    "tied qwen3": (Qwen3ForCausalLM, Qwen3Config, {"tie_word_embeddings": True}),
    "untied qwen3": (Qwen3ForCausalLM, Qwen3Config, {"tie_word_embeddings": False}),
    "untied llama": (LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": False}),
    "experts": (Qwen3MoeForCausalLM, Qwen3MoeConfig, {"tie_word_embeddings": False, **EXPERTS}),
}


def made(kind, seed):
    """A model in float32 whose weights follow from a seed."""
    torch.manual_seed(seed)
    model, config, more = KINDS[kind]
    return model(config(**SHAPE, **more)).eval()


def saved(model, folder):
    """The folder of a model, and its file of weights."""
    model.save_pretrained(folder)
    return folder / "model.safetensors"


def options(folder, **more):
    return VllmOptions(
        **{
            "model": str(folder),
            "dtype": "float32",
            "is_fp32_head": True,
            "max_model_len": 2048,
            "max_sequences": 32,
        }
        | more
    )


def started(run, folder, limits, **more):
    return run(VllmEngine.start(options(folder, **more), limits))


async def under_way(engine, tokens):
    """Wait until some answer has so many tokens, in vLLM's own books."""
    states = engine.vllm.output_processor.request_states
    while not any(one.detokenizer.num_output_tokens() >= tokens for one in states.values()):
        await asyncio.sleep(0.005)


def numbers(*tokens):
    return np.array(tokens, dtype=np.int32)


@torch.no_grad()
def log_probs(model, prompt, tokens, temperature=1.0):
    """What transformers says of an answer under fixed weights."""
    said = torch.tensor([[*prompt.tolist(), *tokens.tolist()]])
    return _chosen(model(said).logits[0, len(prompt) - 1 : -1], said[0, len(prompt) :], temperature)


@torch.no_grad()
def over_old_keys(old, new, prompt, tokens, first):
    """What the new weights say of all tokens from `first` on, over keys and values that the old ones wrote."""
    said = torch.tensor([[*prompt.tolist(), *tokens.tolist()]])
    fed = len(prompt) + first - 1
    cache = DynamicCache()
    old(said[:, :fed], past_key_values=cache, use_cache=True)
    logits = new(said[:, fed:-1], past_key_values=cache, use_cache=True).logits[0]
    return _chosen(logits, said[0, fed + 1 :], 1.0)


def _chosen(logits, tokens, temperature):
    found = (logits.float() / temperature).log_softmax(-1)
    return found.gather(-1, tokens[:, None])[:, 0].numpy()
