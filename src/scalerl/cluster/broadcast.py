"""The generators as vLLM's sender of weights sees them, from the first rank of the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scalerl.cluster.calls import Reference, answers
from scalerl.rollout.vllm.engine import UpdateTimes


class Receivers:
    """All generators as one: vLLM's `VLLMWeightSyncClient`. Each call reaches all of them at the same time."""

    def __init__(self, actors: Sequence[Any], ranks_each: int, seconds: float) -> None:
        self._actors, self._ranks_each, self._seconds = actors, ranks_each, seconds
        self.version = 0
        """What the weights that come next are called."""
        self.times: list[UpdateTimes] = []

    @property
    def world_size(self) -> int:
        """Processes in the group, the sender with them."""
        return 1 + len(self._actors) * self._ranks_each

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """Have them join, each at its own ranks."""
        firsts = range(1, self.world_size, self._ranks_each)
        self._all(
            [
                one.join.remote(init_info, first, self._seconds)
                for one, first in zip(self._actors, firsts, strict=True)
            ]
        )

    def start_weight_update(self) -> None:
        """Nothing yet: an engine must pause first, which is part of receiving."""

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Have them pause, receive, name the version and go on."""
        self.times = self._all(
            [one.receive.remote(self.version, update_info, self._seconds) for one in self._actors]
        )

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """Nothing any more: who has received goes on."""

    def _all(self, calls: list[Reference]) -> list[Any]:
        return answers(calls, self._seconds, "generators")
