"""A condition that is told once when it sets in, and again only after it was gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Latch:
    """Sets in after so many sightings in a row; gone once it is told to be."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._num_seen = 0
        self._is_set = False

    def sets_in(self, is_seen: bool, *, is_gone: bool) -> bool:
        """Whether it sets in now; between seen and gone nothing changes."""
        self._num_seen = self._num_seen + 1 if is_seen else 0
        if is_gone:
            self._is_set = False
        if self._is_set or self._num_seen < self._patience:
            return False
        self._is_set = True
        return True

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"num_seen": self._num_seen, "is_set": self._is_set}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._num_seen, self._is_set = int(state["num_seen"]), bool(state["is_set"])
