"""One token from each distribution, by one uniform number each."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

LARGEST_UNIFORM = 1 - 2**-23
"""Below one by more than rounding can bridge, so that the last token with any chance is the last one drawn."""


def sample(
    logits: Float[Tensor, "slot word"], uniforms: Float[Tensor, " slot"]
) -> tuple[Int[Tensor, " slot"], Float[Tensor, " slot"]]:
    """Draw by inverting the cumulative distribution; also the log-probability of what was drawn.

    A uniform number belongs to a request and a position, not to a slot or a generator's state, so that an answer
    does not depend on what is sampled beside it, and nothing random needs to be kept for a resume.
    """
    log_chances = logits.log_softmax(-1)
    cumulated = log_chances.exp().cumsum(-1)
    marks = uniforms[:, None] * cumulated[:, -1:]
    drawn = torch.searchsorted(cumulated, marks, right=True).clamp_(max=logits.shape[-1] - 1)
    return drawn.squeeze(-1), log_chances.gather(-1, drawn).squeeze(-1)
