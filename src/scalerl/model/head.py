"""Log-probabilities of tokens from hidden states, chunk by chunk, so that the full logits are never held.

The product of hidden state and head is where engine and trainer drift apart in bfloat16 (MiniMax-M1; arXiv
2510.13786, A.19). In float32 mode its sums are kept and returned in float32; a cast after a bfloat16 product would
change nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor


def logits_of(
    hidden: Float[Tensor, "token width"], head: Float[Tensor, "word width"], *, is_fp32: bool
) -> Float[Tensor, "token word"]:
    """The logits, in float32; with `is_fp32` the product itself is one."""
    if not is_fp32:
        return (hidden @ head.t()).float()
    if hidden.dtype == torch.float32:
        return hidden @ head.t()
    if hidden.is_cuda:  # bfloat16 operands multiplied exactly, summed and kept in float32 by the tensor cores
        return torch.mm(hidden, head.t(), out_dtype=torch.float32)
    return hidden.float() @ head.float().t()


class _ChunkedLogProbs(torch.autograd.Function):
    """Forward keeps one number a token; backward makes each chunk of logits again."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch hands over what it likes
        hidden: Tensor,
        head: Tensor,
        targets: Tensor,
        temperature: float,
        chunk: int,
        is_fp32: bool,
    ) -> tuple[Tensor, Tensor]:
        log_probs = torch.empty(len(hidden), dtype=torch.float32, device=hidden.device)
        entropy, normaliser = torch.empty_like(log_probs), torch.empty_like(log_probs)
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            logits = logits_of(hidden[part], head, is_fp32=is_fp32).div_(temperature)
            normaliser[part] = logits.logsumexp(-1)
            log_probs[part] = logits.gather(-1, targets[part, None]).squeeze(-1) - normaliser[part]
            chances = (logits - normaliser[part, None]).exp_()
            entropy[part] = normaliser[part] - chances.mul_(logits).sum(-1)
        ctx.save_for_backward(hidden, head, targets, normaliser)
        ctx.temperature, ctx.chunk, ctx.is_fp32 = temperature, chunk, is_fp32
        ctx.mark_non_differentiable(entropy)
        return log_probs, entropy

    @staticmethod
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any,  # noqa: ANN401
        gradient: Tensor,
        _: Tensor,
    ) -> tuple[Tensor | None, ...]:
        hidden, head, targets, normaliser = ctx.saved_tensors
        to_hidden = torch.empty_like(hidden)
        to_head = torch.zeros_like(head, dtype=torch.float32)
        for start in range(0, len(hidden), ctx.chunk):
            part = slice(start, start + ctx.chunk)
            logits = logits_of(hidden[part], head, is_fp32=ctx.is_fp32).div_(ctx.temperature)
            slope = logits.sub_(normaliser[part, None]).exp_().neg_()
            slope.scatter_add_(-1, targets[part, None], torch.ones_like(slope[:, :1]))
            slope = slope.mul_(gradient[part, None] / ctx.temperature).to(hidden.dtype)
            to_hidden[part] = slope @ head
            _add_product(to_head, slope.t(), hidden[part])
        return to_hidden, to_head.to(head.dtype), None, None, None, None


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if left.dtype == torch.float32:
        total.addmm_(left, right)
    elif left.is_cuda:
        total.add_(torch.mm(left, right, out_dtype=torch.float32))
    else:
        total.addmm_(left.float(), right.float())


def log_probs(
    hidden: Float[Tensor, "token width"],
    head: Float[Tensor, "word width"],
    targets: Int[Tensor, " token"],
    *,
    temperature: float,
    chunk: int,
    is_fp32: bool,
) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
    """Log-probability of each target and entropy of its distribution; only the first carries a gradient."""
    found: tuple[Tensor, Tensor] = _ChunkedLogProbs.apply(hidden, head, targets, temperature, chunk, is_fp32)  # pyright: ignore[reportAssignmentType]
    return found
