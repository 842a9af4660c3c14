"""A warm start from folder to folder: tags added, worked solutions learned, the model written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scalerl.model.loading import device_of, load_policy, load_tokenizer
from scalerl.model.policy import Policy
from scalerl.model.tags import add_tags, missing_tags
from scalerl.pipeline.exporting import new_folder, save_module
from scalerl.pipeline.parts import model_stops
from scalerl.recipe.sections import Device, Model, Optimizer, PromptFormat
from scalerl.rollout.encoding import Encoder
from scalerl.trainer.examples import Columns, Form, batches, num_batches, read_worked
from scalerl.trainer.warmstart import warm_start

WARMUP_SHARE = 20
"""One step of so many raises the rate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Warming:
    """What is learned from, and how."""

    model: Model
    prompt: PromptFormat
    columns: Columns
    max_tokens: int
    """Longest example; longer ones are left out."""
    rate: float
    batch: int
    epochs: int
    seed: int
    device: Device


@dataclass(frozen=True, kw_only=True, slots=True)
class Warmed:
    """What came of it."""

    num_examples: int
    num_too_long: int
    num_steps: int
    added: tuple[str, ...]
    """Tags that the tokenizer did not have."""
    first_loss: float
    """Cross-entropy of a token of an answer, mean over the first batch, before anything was learned."""
    last_loss: float


def warm(
    data: str,
    place: Path,
    warming: Warming,
    watch: Callable[[int, int, float], None] = lambda step, total, loss: None,
) -> Warmed:
    """Fine-tune a model on a file of worked solutions and write it to a new folder, whole or not at all."""
    with new_folder(place) as making:
        policy, encoder, added = _prepared(warming)
        form = Form(open=warming.prompt.opening, close=warming.prompt.think_close, max_tokens=warming.max_tokens)
        worked = read_worked(data, warming.columns, form, encoder.prompt, partial(answer_tokens, encoder))
        total = num_batches(len(worked.examples), size=warming.batch, epochs=warming.epochs)
        losses: list[float] = []

        def seen(step: int, loss: float) -> None:
            losses.append(loss)
            watch(step + 1, total, loss)

        lots = batches(worked.examples, size=warming.batch, epochs=warming.epochs, seed=warming.seed)
        warm_start(policy, lots, _optimizer(warming, total), watch=seen)
        save_module(policy.module, making)
        encoder.tokenizer.save_pretrained(making)
    return Warmed(
        num_examples=len(worked.examples),
        num_too_long=worked.num_too_long,
        num_steps=total,
        added=added,
        first_loss=losses[0],
        last_loss=losses[-1],
    )


def _prepared(warming: Warming) -> tuple[Policy, Encoder, tuple[str, ...]]:
    """The policy and its encoder, with every tag one token."""
    loaded = load_policy(warming.model, device_of(warming.device))
    tokenizer = load_tokenizer(warming.model.path)
    added = missing_tags(tokenizer, (warming.prompt.opening, warming.prompt.think_close))
    add_tags(loaded.module, tokenizer, added)
    # Made anew: a policy holds on to its head, and more words make another one.
    policy = Policy(loaded.module, is_fp32_head=loaded.is_fp32_head, chunk_tokens=loaded.chunk_tokens)
    return policy, Encoder(tokenizer, warming.prompt, model_stops(policy)), tuple(added)


def answer_tokens(encoder: Encoder, text: str) -> NDArray[np.int32]:
    """The tokens of an answer, an end token last."""
    tokens: list[int] = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]  # pyright: ignore[reportAssignmentType]
    own = encoder.tokenizer.eos_token_id
    if not tokens or tokens[-1] not in encoder.stops:
        tokens = [*tokens, encoder.stops[0] if own is None else own]  # pyright: ignore[reportAssignmentType]
    return np.array(tokens, dtype=np.int32)


def _optimizer(warming: Warming, total: int) -> Optimizer:
    return Optimizer(rate=warming.rate, warmup_steps=total // WARMUP_SHARE)
