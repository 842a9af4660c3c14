"""The x-axis of a curve: what a run has cost in device time, FLOPs and tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal["generation", "judging", "training", "evaluation", "idle", "redone"]
KINDS: tuple[Kind, ...] = get_args(Kind)

CHARGED: tuple[Kind, ...] = ("generation", "judging", "training", "idle")
"""What counts as the compute of a run; evaluation and work redone after a crash are metered apart."""


def _no_seconds() -> dict[Kind, float]:
    return dict.fromkeys(KINDS, 0.0)


@dataclass(kw_only=True, slots=True)
class Ledger:
    """What a run has cost so far; tokens are exact, time is device-seconds."""

    num_parameters: int
    """Active ones for a mixture of experts."""
    num_devices: int = 1
    num_generated_tokens: int = 0
    """Sampled and forced tokens of training rollouts."""
    num_prefilled_tokens: int = 0
    """Prompt tokens that the engine read for training rollouts."""
    num_trained_tokens: int = 0
    num_evaluation_tokens: int = 0
    """Everything evaluations read and wrote; no part of the compute."""
    now: Callable[[], float] = time.monotonic
    _spent: dict[Kind, float] = field(default_factory=_no_seconds)
    _running: list[Kind] = field(default_factory=list[Kind])
    _since: float = 0.0

    @contextmanager
    def clock(self, kind: Kind) -> Generator[None]:
        """Meter time as one kind; within another clock it is taken from that one, so none counts twice."""
        self._settle()
        self._running.append(kind)
        try:
            yield
        finally:
            self._settle()
            self._running.pop()

    def spend(self, kind: Kind, seconds: float) -> None:
        """Charge time that no clock metered, such as work lost in a crash."""
        self._spent[kind] += seconds * self.num_devices

    @property
    def device_seconds(self) -> dict[Kind, float]:
        """Seconds times devices of each kind, up to now."""
        self._settle()
        return dict(self._spent)

    @property
    def gpu_hours(self) -> float:
        """Device-hours of generation, training and standing still."""
        spent = self.device_seconds
        return sum(spent[kind] for kind in CHARGED) / 3600

    @property
    def flops(self) -> float:
        """6 N for each trained token, 2 N for each generated or prefilled one; evaluation is left out."""
        forward = self.num_generated_tokens + self.num_prefilled_tokens
        return float(self.num_parameters * (6 * self.num_trained_tokens + 2 * forward))

    @property
    def tokens(self) -> int:
        """Tokens generated for training, sampled and forced."""
        return self.num_generated_tokens

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "device_seconds": self.device_seconds,
            "num_generated_tokens": self.num_generated_tokens,
            "num_prefilled_tokens": self.num_prefilled_tokens,
            "num_trained_tokens": self.num_trained_tokens,
            "num_evaluation_tokens": self.num_evaluation_tokens,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint; what a running clock metered before is forgotten."""
        self._spent = {kind: float(state["device_seconds"].get(kind, 0.0)) for kind in KINDS}
        self._since = self.now()
        self.num_generated_tokens = int(state["num_generated_tokens"])
        self.num_prefilled_tokens = int(state["num_prefilled_tokens"])
        self.num_trained_tokens = int(state["num_trained_tokens"])
        self.num_evaluation_tokens = int(state["num_evaluation_tokens"])

    def _settle(self) -> None:
        """Charge the time since the last look to the innermost clock."""
        now = self.now()
        if self._running:
            self._spent[self._running[-1]] += (now - self._since) * self.num_devices
        self._since = now
