"""How far a policy has moved from where the run started, in nats a token."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch

from scalerl.model.policy import Policy
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

    @torch.no_grad()
    def kl(self, groups: Sequence[Group], temperature: float) -> float:
        """Estimate the divergence of the policy from its start on tokens it sampled lately.

        The mean over tokens of exp(-d) - 1 + d, where d is now less start in log-probability: never negative, and
        unbiased where the tokens come from the policy of now (Schulman 2020, "k3").
        """
        found: list[np.ndarray] = []
        rollouts = [(group, one) for group in groups for one in group.rollouts][-NUM_ROLLOUTS:]
        for group, one in rollouts:
            tokens = torch.from_numpy(np.concatenate([group.prompt_tokens, one.tokens]).astype(np.int64))
            now, start = (
                self._log_probs(policy, tokens, len(group.prompt_tokens), temperature)
                for policy in (self._policy, self._start)
            )
            found.append((now - start)[one.is_trainable])
        apart = np.concatenate(found).astype(np.float64)
        return float(np.mean(np.expm1(-apart) + apart))

    def _log_probs(self, policy: Policy, tokens: torch.Tensor, first: int, temperature: float) -> np.ndarray:
        here = tokens.to(policy.device)
        hidden = policy.hidden(here[None, :-1])[0, first - 1 :]
        return policy.log_probs(hidden, here[first:], temperature)[0].cpu().numpy()
