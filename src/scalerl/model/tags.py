"""Tags that a tokenizer lacks, added to it and to the model, one token each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from tokenizers import AddedToken
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase


def missing_tags(tokenizer: PreTrainedTokenizerBase, tags: Sequence[str]) -> list[str]:
    """The tags that are not one token of their own."""
    return [tag for tag in dict.fromkeys(tags) if tag and not _is_one_token(tokenizer, tag)]


def add_tags(module: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tags: Sequence[str]) -> None:
    """Add tags as tokens; their rows of embedding and head begin as the mean of all words known before."""
    if not tags:
        return
    num_known = len(tokenizer)
    # Not special: a tag is part of what people read, and decoding must not swallow it.
    tokenizer.add_tokens([AddedToken(tag, normalized=False, special=False) for tag in tags])  # pyright: ignore[reportArgumentType]
    new = cast(list[int], tokenizer.convert_tokens_to_ids(list(tags)))
    if max(new) >= cast(Tensor, module.get_input_embeddings().weight).shape[0]:  # else there are rows to spare
        module.resize_token_embeddings(max(new) + 1, mean_resizing=False)
    with torch.no_grad():
        for layer in (module.get_input_embeddings(), module.get_output_embeddings()):
            rows = cast(Tensor, layer.weight)  # pyright: ignore[reportOptionalMemberAccess]
            rows[new] = rows[:num_known].float().mean(0).to(rows.dtype)


def _is_one_token(tokenizer: PreTrainedTokenizerBase, tag: str) -> bool:
    encoded: Any = tokenizer(tag, add_special_tokens=False)
    found: list[int] = encoded["input_ids"]
    return len(found) == 1 and found[0] != tokenizer.unk_token_id
