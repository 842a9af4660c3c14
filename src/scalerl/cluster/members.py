"""Places that actors hold; who holds one may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(kw_only=True, slots=True, eq=False)
class Member:
    """One generator's place."""

    index: int
    actor: Any
    busy: float = 0.0
    """Seconds that the one who holds it has been busy, when last asked."""
    busy_before: float = 0.0
    """Those of all who held it before."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"generator {self.index}"

    def take_place(self, actor: Any) -> None:  # noqa: ANN401 - a handle of an actor
        """Another holds it from now on."""
        self.busy_before, self.busy, self.actor = self.busy_before + self.busy, 0.0, actor
