"""How much faster than `generate` of transformers the engine answers requests of ragged lengths, both in one run.

    python bench/engine.py                    the demo's policy on a CPU
    python bench/engine.py --device cuda      the shape of SmolLM2-135M in bfloat16 on a GPU

Lengths are geometric on both sides: the models are made from a config and nearly uniform over words, and one in so
many words ends an answer.
"""

import argparse
import resource
import time

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.rollout.engine import Engine, Request
from scalerl.rollout.limits import Limits


def demo_shape():
    config = Qwen3Config(
        vocab_size=512, hidden_size=96, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, head_dim=24, tie_word_embeddings=True, pad_token_id=0,
    )  # fmt: skip
    return Qwen3ForCausalLM(config)


def smollm2_shape(**more):
    shape = dict(
        vocab_size=49_152, hidden_size=576, intermediate_size=1_536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, tie_word_embeddings=True, max_position_embeddings=8_192, pad_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(LlamaConfig(**{**shape, **more}))


def requests(count, vocabulary, mean_prompt, samples=1):
    """Prompts of ragged length, each asked so many times in a row, as groups of rollouts are."""
    random = np.random.default_rng(0)
    lengths = random.integers(mean_prompt // 2, mean_prompt * 3 // 2, -(-count // samples))
    prompts = [random.integers(vocabulary // 2, vocabulary, one).astype(np.int32) for one in lengths]
    return [prompts[place // samples] for place in range(count)]


def by_engine(policy, prompts, limits, slots, engine=None):
    engine = engine or Engine(
        policy, limits, slots=slots, longest_prompt=max(map(len, prompts)), temperature=1.0, use_graphs=True
    )
    started = engine.num_sampled
    begin = time.perf_counter()
    engine.submit([Request(key=(i, 0), prompt=one, seed=i) for i, one in enumerate(prompts)])
    while not engine.is_idle:
        engine.step()
    return engine.num_sampled - started, time.perf_counter() - begin, engine


def by_generate(model, prompts, limits):
    longest = max(map(len, prompts))
    tokens, mask = np.zeros((len(prompts), longest), np.int64), np.zeros((len(prompts), longest), np.int64)
    for row, one in enumerate(prompts):
        tokens[row, longest - len(one) :], mask[row, longest - len(one) :] = one, 1
    tokens, mask = (torch.from_numpy(one).to(model.device) for one in (tokens, mask))
    begin = time.perf_counter()
    with torch.inference_mode():
        found = model.generate(
            tokens, attention_mask=mask, do_sample=True, top_k=0, max_new_tokens=limits.answer,
            eos_token_id=list(limits.stops), pad_token_id=0, output_logits=False,
        )  # fmt: skip
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    return int((found[:, longest:] != 0).sum()), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--requests", type=int, default=512)
    parser.add_argument("--mean", type=int, default=None, help="mean number of new tokens")
    parser.add_argument("--most", type=int, default=None, help="most new tokens")
    parser.add_argument("--samples", type=int, default=1, help="requests in a row that share a prompt")
    parser.add_argument("--slots", type=int, default=None)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    given = parser.parse_args()
    is_gpu = given.device == "cuda"
    torch.manual_seed(0)
    model = (smollm2_shape() if is_gpu else demo_shape()).eval()
    model = model.to(given.device, torch.bfloat16 if is_gpu else torch.float32)
    mean, most = given.mean or (200 if is_gpu else 20), given.most or (1_024 if is_gpu else 100)
    words = model.config.vocab_size
    limits = Limits(answer=most, stops=tuple(range(1, 1 + round(words / mean))))
    prompts = requests(given.requests, words, 64 if is_gpu else 16, given.samples)
    rivals, ours = [], []
    for threads in [1] if is_gpu else given.threads:
        torch.set_num_threads(threads)
        model.set_attn_implementation("sdpa")
        by_generate(model, prompts[:8], Limits(answer=8, stops=limits.stops))
        rivals.append((*by_generate(model, prompts, limits), threads))
        model.set_attn_implementation(NAME)
        slots = given.slots or (512 if is_gpu else 128)
        _, _, engine = by_engine(Policy(model), prompts, limits, slots)
        ours.append((*by_engine(Policy(model), prompts, limits, slots, engine)[:2], threads))
    for name, found in (("generate", rivals), ("engine", ours)):
        for tokens, seconds, threads in found:
            print(
                f"{name:9} {threads} threads: {tokens:8,} tokens, {seconds:.2f} s, {tokens / seconds:,.0f} a second"
            )
    best = [max(tokens / seconds for tokens, seconds, _ in found) for found in (ours, rivals)]
    print(f"engine / generate, each with the threads that suit it best: {best[0] / best[1]:.2f}")
    peak = (
        torch.cuda.max_memory_allocated() if is_gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    print(f"memory peak {peak / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
