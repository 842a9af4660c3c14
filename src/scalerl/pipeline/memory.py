"""What a recipe will hold in memory, told before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from scalerl.errors import InputError
from scalerl.model.loading import device_of, dtype_of, folder_of
from scalerl.model.policy import Policy
from scalerl.model.size import bytes_of_training, bytes_per_cached_token, num_parameters
from scalerl.pipeline.sizing import BYTES_OF_A_STAMP, NUM_ENGINES, free_bytes
from scalerl.recipe.lengths import Interruption
from scalerl.recipe.recipe import Recipe

BYTES_OF_ACTIVATIONS = 34
"""Of one token in one layer, for each unit of width in 16 bits, without recomputation (Korthikanti et al. 2022)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes by what holds them."""

    num_parameters: int
    training: int
    """Weights, gradients, moments and masters, and the copy of the start that drift is measured from."""
    cache: int
    """Keys, values and stamps of all slots, of training and of evaluation."""
    logits: int
    """One chunk, with its exponentials."""
    activations: int
    """Of one micro-batch, roughly."""
    free: int
    num_slots: int

    @property
    def total(self) -> int:
        """All of it at once."""
        return self.training + self.cache + self.logits + self.activations


def memory_of(recipe: Recipe) -> Memory:
    """Estimate from the model's configuration alone; prompts are taken to be as long as they may be."""
    device = device_of(recipe.runtime.device)
    policy = _shape(recipe, dtype_of(recipe.model.dtype, device))
    config = policy.module.config
    slots = recipe.engine.slots or recipe.batch.prompts * recipe.batch.samples
    answer = _answer_tokens(recipe)
    slot = (recipe.prompt.max_tokens + answer) * bytes_per_cached_token(policy) + answer * BYTES_OF_A_STAMP
    layers = 1 if recipe.optimizer.gradient_checkpointing else config.num_hidden_layers
    width_bytes = config.hidden_size * BYTES_OF_ACTIVATIONS * policy.dtype.itemsize // 2
    return Memory(
        num_parameters=num_parameters(policy),
        training=bytes_of_training(policy)
        + recipe.log.kl_to_start * num_parameters(policy) * policy.dtype.itemsize,
        cache=NUM_ENGINES * slots * slot,
        logits=2 * 4 * recipe.model.chunk_tokens * config.vocab_size,
        activations=recipe.optimizer.micro_batch_tokens * layers * width_bytes,
        free=free_bytes(device),
        num_slots=slots,
    )


def _shape(recipe: Recipe, dtype: torch.dtype) -> Policy:
    place = folder_of(recipe.model.path)
    if place.is_file():
        raise InputError(
            f"model.path is {recipe.model.path!r}; the memory of a .gguf file is known once it is loaded"
        )
    with torch.device("meta"):
        return Policy(AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(place), dtype=dtype))


def _answer_tokens(recipe: Recipe) -> int:
    length = recipe.length
    if isinstance(length, Interruption):
        return length.think_tokens[1] + length.answer_tokens + len(length.phrase.split())
    return length.max_tokens
