"""How many sequences fit into memory at once, decided before a run and written into its recipe."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from scalerl.errors import InputError
from scalerl.model.policy import Policy
from scalerl.model.size import bytes_of_training, bytes_per_cached_token, num_parameters
from scalerl.recipe.recipe import Recipe
from scalerl.rollout.limits import Limits

BYTES_OF_A_STAMP = 16
"""Token, log-probability, version and uniform number of one sampled token."""
NUM_ENGINES = 2
"""One for training rollouts, one for evaluations: the sequences in flight stand still meanwhile."""


def free_bytes(device: torch.device) -> int:
    """Memory that nothing else uses: of the GPU, or of the machine."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        words = next(line for line in meminfo.read_text().splitlines() if line.startswith("MemAvailable")).split()
        return int(words[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def bytes_of_a_slot(policy: Policy, limits: Limits, longest_prompt: int) -> int:
    """Keys, values and stamps of one sequence at its longest, in both engines."""
    length = longest_prompt + limits.most_tokens
    return NUM_ENGINES * (length * bytes_per_cached_token(policy) + limits.most_tokens * BYTES_OF_A_STAMP)


def num_slots(recipe: Recipe, policy: Policy, limits: Limits, longest_prompt: int) -> int:
    """The slots of a run: as many as asked for, or one batch, or as many as fit."""
    each = bytes_of_a_slot(policy, limits, longest_prompt)
    copy = recipe.log.kl_to_start * num_parameters(policy) * policy.dtype.itemsize
    room = free_bytes(policy.device) - bytes_of_training(policy) - copy
    fitting = int(max(room, 0) * recipe.engine.memory_share) // each
    wanted = recipe.engine.slots or recipe.batch.prompts * recipe.batch.samples
    if fitting < (recipe.engine.slots or 1):
        raise InputError(
            f"engine.slots is {recipe.engine.slots}; {wanted} sequences of {longest_prompt + limits.most_tokens} "
            f"tokens take {wanted * each / 2**30:.1f} GiB, and {fitting} fit into engine.memory_share = "
            f"{recipe.engine.memory_share} of what is free: lower engine.slots or the budgets in [length]"
        )
    return min(wanted, fitting)
