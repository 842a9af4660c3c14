"""Keys and values of the sequences in flight, one fixed slot each, and attention over them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from scalerl.model.attention import causal
from scalerl.model.policy import Policy

LENGTH_STEP = 16
"""Attention on a CPU looks at whole multiples of this; masked entries add exact zeros and change no bit."""


class Cache:
    """Keys and values by layer, seen as slot, position, head, width on every device.

    In memory heads come before positions on a CPU, where one product a head is fastest, and after them on a GPU,
    where the flash kernel wants the positions of a slot in one strip.
    """

    def __init__(self, policy: Policy, *, slots: int, length: int) -> None:
        config = policy.module.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.num_slots, self.length = slots, -(-length // LENGTH_STEP) * LENGTH_STEP
        self.keys = [self._zeros(policy, heads, width) for _ in range(config.num_hidden_layers)]
        self.values = [self._zeros(policy, heads, width) for _ in range(config.num_hidden_layers)]

    def write(self, layer: int, where: tuple[Tensor, ...], key: Tensor, value: Tensor) -> None:
        """Put keys and values into slots and positions."""
        self.keys[layer].index_put_(where, key)
        self.values[layer].index_put_(where, value)

    def _zeros(self, policy: Policy, heads: int, width: int) -> Tensor:
        """Zeros, not garbage: what a mask hides is multiplied by zero, and zero times NaN is NaN."""
        if policy.device.type == "cpu":
            return torch.zeros(self.num_slots, heads, self.length, width, dtype=policy.dtype).transpose(1, 2)
        return torch.zeros(self.num_slots, self.length, heads, width, dtype=policy.dtype, device=policy.device)


class Prefill:
    """Attention over prompts that also fills their slots; each prompt may fill several."""

    def __init__(self, cache: Cache, prompts_of_slots: Tensor, slots: Tensor) -> None:
        self._cache, self._prompts, self._slots = cache, prompts_of_slots, slots

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Keep the prompts' keys and values in every slot that continues them."""
        time = key.shape[2]
        self._cache.keys[layer][self._slots, :time] = key.transpose(1, 2)[self._prompts]
        self._cache.values[layer][self._slots, :time] = value.transpose(1, 2)[self._prompts]
        return causal(query, key, value, scale)


class MaskedDecode:
    """Attention of one new token a slot, on a CPU, or on a GPU in float32, which the flash kernel does not know.

    Two batched products would be faster by a third, but their sums depend on how far the longest slot reaches;
    those of torch's fused kernel do not (tests/rollout/test_engine.py).
    """

    def __init__(self, cache: Cache, positions: Tensor) -> None:
        longest = int(positions.max()) + 1
        self._reach = -(-longest // LENGTH_STEP) * LENGTH_STEP
        self._cache, self._positions = cache, positions
        self._rows = torch.arange(cache.num_slots, device=positions.device)
        reach = torch.arange(self._reach, device=positions.device)
        self._is_seen = (reach <= positions[:, None])[:, None, None]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Keep the new token and attend over its slot."""
        cache = self._cache
        cache.write(layer, (self._rows, self._positions), key[:, :, 0], value[:, :, 0])
        keys, values = (kept[layer][:, : self._reach].transpose(1, 2) for kept in (cache.keys, cache.values))
        is_grouped = key.shape[1] != query.shape[1]
        found = scaled_dot_product_attention(
            query, keys, values, attn_mask=self._is_seen, scale=scale, enable_gqa=is_grouped
        )
        return found.transpose(1, 2)


class FlashDecode:
    """Attention of one new token a slot by torch's flash kernel, which reads each slot up to its own length.

    All tensors stay in place, so that the step can be captured as a graph.
    """

    def __init__(self, cache: Cache, positions: Tensor) -> None:
        self._cache, self._positions = cache, positions
        slots, device = cache.num_slots, positions.device
        self._rows = torch.arange(slots, device=device)
        self._slot_ends = torch.arange(slots + 1, dtype=torch.int32, device=device)
        self._key_ends = self._slot_ends * cache.length

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Keep the new token and attend over its slot.

        Query heads that share a key head go in as queries of one sequence, so that its keys are read once.
        """
        cache = self._cache
        cache.write(layer, (self._rows, self._positions), key[:, :, 0], value[:, :, 0])
        slots, heads, _, width = query.shape
        shared = heads // key.shape[1]
        queries = query.view(slots, key.shape[1], shared, width).transpose(1, 2).flatten(0, 1)
        found = torch.ops.aten._flash_attention_forward(
            queries,
            cache.keys[layer].flatten(0, 1),
            cache.values[layer].flatten(0, 1),
            self._slot_ends * shared,
            self._key_ends,
            shared,
            cache.length,
            0.0,
            False,
            False,
            scale=scale,
            seqused_k=(self._positions + 1).to(torch.int32),
        )[0]
        return found.view(slots, shared, key.shape[1], width).transpose(1, 2).reshape(slots, 1, heads, width)
