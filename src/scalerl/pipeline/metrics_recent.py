"""Shares over the last steps, the one thing about metrics that has a memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

WINDOW = 100


class ClippedShare:
    """Share of the last updates whose gradient was scaled down."""

    def __init__(self, window: int = WINDOW) -> None:
        self._flags: deque[bool] = deque(maxlen=window)

    def add(self, was_clipped: bool) -> dict[str, float]:
        """Take in one update and say the share with it; a step without an update is not taken in."""
        self._flags.append(was_clipped)
        return {"gradient/clipped_share": sum(self._flags) / len(self._flags)}

    def state(self) -> list[bool]:
        """What a checkpoint keeps."""
        return list(self._flags)

    def restore(self, state: Sequence[bool]) -> None:
        """Go on from a checkpoint."""
        self._flags.clear()
        self._flags.extend(bool(flag) for flag in state)
