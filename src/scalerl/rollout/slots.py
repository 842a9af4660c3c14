"""What is known of the sequence in each slot, and the rules by which it goes on and ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scalerl.records import Rollout
from scalerl.rollout.limits import Limits, draw_cut, stream_of
from scalerl.rollout.sampling import LARGEST_UNIFORM

NEVER = 2**40
"""Where the answer begins while thinking has not ended: later than any count."""


class Slots:
    """One row of tensors a slot; every rule is a tensor operation in place, so that a step can be a CUDA graph."""

    FIELDS = (
        "token", "position", "count", "think", "answer_at", "is_active", "is_interrupted", "is_stopped",
        "uniforms", "tokens", "log_probs", "versions",
    )  # fmt: skip

    def __init__(self, num: int, limits: Limits, device: torch.device) -> None:
        def whole(fill: int = 0) -> Tensor:
            return torch.full((num,), fill, dtype=torch.long, device=device)

        def flags() -> Tensor:
            return torch.zeros(num, dtype=torch.bool, device=device)

        most = limits.most_tokens
        self._limits, self._rows = limits, torch.arange(num, device=device)
        self._phrase = torch.tensor(limits.phrase or (0,), device=device)
        self._stops = torch.tensor(limits.stops, device=device)
        self.token, self.position, self.count = whole(), whole(), whole()
        """The last token, still to be fed; where it stands in the cache; how many have been sampled."""
        self.think, self.answer_at = whole(NEVER), whole()
        self.is_active, self.is_interrupted, self.is_stopped = flags(), flags(), flags()
        self.uniforms = torch.zeros(num, most, device=device)
        self.tokens = torch.zeros(num, most, dtype=torch.int32, device=device)
        self.log_probs = torch.zeros(num, most, device=device)
        self.versions = torch.zeros(num, most, dtype=torch.int32, device=device)

    def begin(self, slots: Sequence[int], prompts: Sequence[NDArray[np.int32]], seeds: Sequence[int]) -> None:
        """Put requests into slots: all that is random about one follows from its seed."""
        if not slots:
            return
        think, uniforms = zip(*[self._draw(one) for one in seeds], strict=True)
        starts = [0 if self._limits.think is None else NEVER] * len(slots)
        where = self._whole(slots)
        self.think[where], self.answer_at[where] = self._whole(think), self._whole(starts)
        self.uniforms[where] = torch.from_numpy(np.stack(uniforms)).to(where.device)
        self.token[where] = self._whole([int(one[-1]) for one in prompts])
        self.position[where] = self._whole([len(one) - 1 for one in prompts])
        self.count[where] = 0
        self.is_interrupted[where], self.is_stopped[where] = False, False
        self.is_active[where] = True

    def _draw(self, seed: int) -> tuple[int, NDArray[np.float32]]:
        """Where thinking is cut, and one uniform number a token."""
        stream = stream_of(seed)
        cut = draw_cut(self._limits, stream)
        uniforms = stream.random(self._limits.most_tokens, dtype=np.float32)
        return NEVER if cut is None else cut, np.minimum(uniforms, np.float32(LARGEST_UNIFORM))

    def _whole(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor(numbers, dtype=torch.long, device=self.token.device)

    def chance(self) -> Tensor:
        """The uniform number that decides each slot's next token."""
        return self.uniforms.gather(1, self._at()).squeeze(1)

    def advance(self, sampled: Tensor, log_probs: Tensor, version: Tensor) -> None:
        """Write down one token a slot, and decide what it ends."""
        active, count, at = self.is_active, self.count, self._at()
        is_forced = self.is_interrupted & (count < self.answer_at)
        in_phrase = (count - self.answer_at + len(self._limits.phrase)).clamp(0, len(self._phrase) - 1)
        token = torch.where(is_forced, self._phrase[in_phrase], sampled)
        _keep(self.tokens, at, token, active)
        _keep(self.log_probs, at, log_probs.masked_fill(is_forced, 0.0), active)
        _keep(self.versions, at, version.expand_as(count), active)
        self.token.copy_(torch.where(active, token, self.token))
        self.position.add_(active)
        count.add_(active)
        self._end(token, active & ~is_forced)

    def _end(self, token: Tensor, is_sampled: Tensor) -> None:
        """Close thinking, interrupt it, stop, or run out: in this order."""
        limits, is_thinking = self._limits, self.answer_at == NEVER
        stops = is_sampled & (token[:, None] == self._stops).any(-1)
        closes = is_sampled & is_thinking & (token == limits.close)
        cut = is_sampled & is_thinking & ~closes & ~stops & (self.count >= self.think)
        self.answer_at.copy_(torch.where(closes, self.count, self.answer_at))
        self.answer_at.copy_(torch.where(cut, self.count + len(limits.phrase), self.answer_at))
        self.is_interrupted.logical_or_(cut)
        self.is_stopped.logical_or_(stops)
        runs_out = self.count >= self.answer_at + limits.answer
        self.is_active.logical_and_(~(stops | runs_out))

    def rollouts(self, slots: Sequence[int]) -> list[Rollout]:
        """What was sampled in slots that are done, fetched together."""
        where = self._whole(slots)
        fields = (
            self.tokens,
            self.log_probs,
            self.versions,
            self.count,
            self.answer_at,
            self.is_interrupted,
            self.is_stopped,
        )
        fetched = [one[where].cpu().numpy() for one in fields]
        return [self._rollout(*[one[row] for one in fetched]) for row in range(len(slots))]

    def _rollout(
        self,
        tokens: NDArray[np.int32],
        log_probs: NDArray[np.float32],
        versions: NDArray[np.int32],
        count: int,
        answer_at: int,
        is_interrupted: bool,
        is_stopped: bool,
    ) -> Rollout:
        is_trainable = np.ones(count, dtype=np.bool_)
        if is_interrupted:
            is_trainable[answer_at - len(self._limits.phrase) : answer_at] = False
        return Rollout(
            tokens=tokens[:count].copy(),
            behavior=log_probs[:count].copy(),
            versions=versions[:count].copy(),
            is_trainable=is_trainable,
            ending="stopped" if is_stopped else "truncated",
            is_interrupted=bool(is_interrupted),
        )

    def _at(self) -> Tensor:
        return self.count.clamp(max=self.tokens.shape[1] - 1)[:, None]


def _keep(kept: Tensor, at: Tensor, new: Tensor, active: Tensor) -> None:
    """Write one entry a row where the row is active."""
    old = kept.gather(1, at)
    kept.scatter_(1, at, torch.where(active[:, None], new[:, None].to(kept.dtype), old))
