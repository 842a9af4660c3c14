"""How far a policy has moved from where the run started, in nats a token."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scalerl.model.policy import Policy
from scalerl.model.scoring import answer_log_probs
from scalerl.records import Group

NUM_ROLLOUTS = 32
"""Newest rollouts that the two policies are compared on."""


class StartDrift:
    """Keeps a copy of the policy as it was when the run began."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._start = Policy(
            copy.deepcopy(policy.module).requires_grad_(False),
            is_fp32_head=policy.is_fp32_head,
            chunk_tokens=policy.chunk_tokens,
        )

    def kl(self, groups: Sequence[Group], temperature: float) -> float:
        """Estimate the divergence of the policy from its start on tokens it sampled lately.

        The mean over tokens of exp(-d) - 1 + d, where d is now less start in log-probability: never negative, and
        unbiased where the tokens come from the policy of now (Schulman 2020, "k3").
        """
        found: list[NDArray[np.float32]] = []
        newest = [(group, one) for group in groups for one in group.rollouts][-NUM_ROLLOUTS:]
        for group, one in newest:
            now, start = (
                answer_log_probs(policy, group.prompt_tokens, one.tokens, temperature)
                for policy in (self._policy, self._start)
            )
            found.append((now - start)[one.is_trainable])
        apart = np.concatenate(found).astype(np.float64)
        return float(np.mean(np.expm1(-apart) + apart))
