"""The policy: one model whose weights the trainer moves and the engine samples from."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import PreTrainedModel

from scalerl.model import head
from scalerl.model.attention import Cached


class Policy:
    """A causal language model split into its body and its head.

    Engine and trainer hold the same object, so weights are published by being written, and both heads compute from
    the same numbers. It stays in evaluation mode: dropout would put noise into every ratio.
    """

    def __init__(self, module: PreTrainedModel, *, is_fp32_head: bool = True, chunk_tokens: int = 1_024) -> None:
        self.module = module.eval()
        self.is_fp32_head = is_fp32_head
        self.chunk_tokens = chunk_tokens
        self._body: torch.nn.Module = module.base_model

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self._head.device

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the body."""
        return next(self._body.parameters()).dtype

    @property
    def _head(self) -> torch.nn.Parameter:
        """Asked for each time: where the policy is sharded, it is another one inside the forward pass."""
        return self.module.get_output_embeddings().weight  # pyright: ignore[reportAttributeAccessIssue, reportReturnType, reportOptionalMemberAccess]

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        """Every parameter by name; tied ones once."""
        return dict(self.module.named_parameters())

    def hidden(
        self,
        tokens: Int[Tensor, "row time"],
        positions: Int[Tensor, "row time"] | None = None,
        cached: Cached | None = None,
    ) -> Float[Tensor, "row time width"]:
        """Last hidden states, causal over right-padded rows, or over kept keys where `cached` is given."""
        extra = {} if cached is None else {"cached": cached}
        return self._body(input_ids=tokens, position_ids=positions, use_cache=False, **extra).last_hidden_state

    def logits(self, hidden: Float[Tensor, "token width"]) -> Float[Tensor, "token word"]:
        """Logits in float32, for as many tokens as the caller dares to hold."""
        return head.logits_of(hidden, self._head, is_fp32=self.is_fp32_head)

    def log_probs(
        self, hidden: Float[Tensor, "token width"], targets: Int[Tensor, " token"], temperature: float
    ) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
        """Log-probability of each target and entropy of its distribution, a chunk of tokens at a time."""
        return head.log_probs(
            hidden,
            self._head,
            targets,
            temperature=temperature,
            chunk=self.chunk_tokens,
            is_fp32=self.is_fp32_head,
        )

    def scored(
        self,
        tokens: Int[Tensor, "row time"],
        source: Int[Tensor, " token"],
        target: Int[Tensor, " token"],
        temperature: float,
    ) -> tuple[Float[Tensor, " token"], Float[Tensor, " token"]]:
        """Log-probability of each target, and entropy, at the places `source` of the flattened rows."""
        return self.log_probs(self.hidden(tokens).flatten(0, 1).index_select(0, source), target, temperature)

    def gradient_checkpointing(self, is_on: bool) -> None:
        """Recompute activations in the backward pass, or keep them."""
        if is_on:
            self.module.gradient_checkpointing_enable({"use_reentrant": False})
            self.module.train()  # the library checkpoints only in training mode; loading refuses dropout
        else:
            self.module.gradient_checkpointing_disable()
            self.module.eval()
