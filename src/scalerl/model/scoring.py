"""What the trainer's half of a policy says of an answer that was already given."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from scalerl.model.policy import Policy


@torch.no_grad()
def answer_log_probs(
    policy: Policy, prompt: NDArray[np.int32], answer: NDArray[np.int32], temperature: float
) -> NDArray[np.float32]:
    """Log-probability of each token of an answer, given its prompt."""
    tokens = torch.from_numpy(np.concatenate([prompt, answer]).astype(np.int64)).to(policy.device)
    hidden = policy.hidden(tokens[None, :-1])[0, len(prompt) - 1 :]
    return policy.log_probs(hidden, tokens[len(prompt) :], temperature)[0].cpu().numpy()
