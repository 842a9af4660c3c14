"""How far engine and trainer are apart under the same weights: float32, bfloat16, with and without a float32 head.

python bench/precision.py [--device cuda]
"""

import argparse

import numpy as np
import torch
from engine import requests, smollm2_shape

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.rollout.engine import Engine, Request
from scalerl.rollout.limits import Limits


@torch.no_grad()
def log_ratios(policy, prompts, use_graphs):
    limits = Limits(answer=64, stops=(1,))
    engine = Engine(policy, limits, slots=16, longest_prompt=64, temperature=1.0, use_graphs=use_graphs)
    engine.submit([Request(key=(i, 0), prompt=one, seed=i) for i, one in enumerate(prompts)])
    found = []
    while not engine.is_idle:
        for done in engine.step():
            first = len(done.request.prompt)
            tokens = torch.from_numpy(np.concatenate([done.request.prompt, done.rollout.tokens]).astype(np.int64))
            tokens = tokens.to(policy.device)
            hidden = policy.hidden(tokens[None, :-1])[0, first - 1 :]
            found.append(policy.log_probs(hidden, tokens[first:], 1.0)[0].cpu().numpy() - done.rollout.behavior)
    return np.concatenate(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--layers", type=int, default=None, help="fewer layers, for a CPU")
    given = parser.parse_args()
    for name, dtype, is_fp32_head in (
        ("float32", torch.float32, True),
        ("bfloat16, float32 head", torch.bfloat16, True),
        ("bfloat16, bfloat16 head", torch.bfloat16, False),
    ):
        torch.manual_seed(0)
        model = smollm2_shape(**({"num_hidden_layers": given.layers} if given.layers else {}))
        for (
            weights
        ) in model.parameters():  # random weights are nearly uniform over words: sharpen them as training does
            weights.data.mul_(2.0)
        model = model.eval().to(given.device, dtype)
        model.set_attn_implementation(NAME)
        found = log_ratios(
            Policy(model, is_fp32_head=is_fp32_head), requests(32, 49_152, 32), given.device == "cuda"
        )
        rms, largest = np.sqrt(np.mean(found**2)), np.abs(found).max()
        print(f"{name:24} log-ratio {rms:.2e} RMS, {largest:.2e} at most, {len(found)} tokens")


if __name__ == "__main__":
    main()
