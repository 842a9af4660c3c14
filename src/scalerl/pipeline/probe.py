"""Whether engine and trainer agree: the same tokens through both, before anything is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalerl.model.policy import Policy
from scalerl.model.scoring import answer_log_probs
from scalerl.pipeline.seeds import seed_of
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.engine import Engine
from scalerl.rollout.generator import Generator
from scalerl.rollout.limits import Limits

NUM_PROMPTS, NUM_SAMPLES, MOST_TOKENS = 8, 2, 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """The log-ratio between trainer and engine with no update in flight; it would be zero in exact arithmetic."""

    rms: float
    largest: float
    num_tokens: int


def probe(policy: Policy, encoder: Encoder, limits: Limits, prompts: Sequence[Prompt], temperature: float) -> Probe:
    """Sample a few short answers and ask the trainer's half for their log-probabilities."""
    short = replace(limits, think=None, answer=min(MOST_TOKENS, limits.most_tokens))
    asked = prompts[:NUM_PROMPTS]
    longest = max(len(encoder.prompt(one)) for one in asked)
    slots = NUM_PROMPTS * NUM_SAMPLES
    engine = Engine(policy, short, slots=slots, longest_prompt=longest, temperature=temperature)
    generator = Generator(
        engine, encoder, samples=NUM_SAMPLES, seed_of=lambda prompt, _, place: seed_of(prompt.id, place)
    )
    for admission, one in enumerate(asked):
        generator.ask(one, admission)
    found: list[float] = []
    while not generator.is_idle:
        for group in generator.advance():
            for one in group.rollouts:
                now = answer_log_probs(policy, group.prompt_tokens, one.tokens, temperature)
                found.extend((now - one.behavior).tolist())
    errors = np.array(found)
    return Probe(
        rms=float(np.sqrt(np.mean(errors**2))), largest=float(np.abs(errors).max()), num_tokens=len(errors)
    )
