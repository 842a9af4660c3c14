"""The generators of a cluster: who is alive, and which weights they run.

A generator that dies, hangs or is cut off is replaced; the new one takes up the current weights before it is asked
anything. What the lost one had in hand is asked again under the same admission, so every group is answered once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scalerl.cluster.calls import Reference, answer, end
from scalerl.cluster.errors import LostError, TooManyRestartsError

LOOK_SECONDS = 5.0
"""How long a generator may take to say how busy it was."""
CLOSE_SECONDS = 30.0
"""How long a generator may take to end by itself."""
MEASURED = ("pause", "load", "resume")
"""Phases of an update that a generator times."""


@dataclass(kw_only=True, slots=True, eq=False)
class Member:
    """One generator; who holds its place may change."""

    index: int
    actor: Any


@dataclass(kw_only=True, slots=True)
class Limits:
    """How long things may take, and how often they may fail."""

    start: float
    update: float
    restarts: int


class Pool:
    """Generators by number; `make` starts one in the place of that number."""

    def __init__(self, count: int, make: Callable[[int, int], Any], limits: Limits) -> None:
        self._make, self._limits = make, limits
        self._version, self._weights = 0, None
        self.num_restarts = 0
        self.reasons: list[str] = []
        """Why generators were replaced, in words."""
        self.times: dict[str, float] = {}
        """Seconds of each phase of the last update: the longest of any generator."""
        members = [Member(index=index, actor=make(index, 0)) for index in range(count)]
        self._answer_all([one.actor.start.remote() for one in members], limits.start)
        self.members = members

    @property
    def version(self) -> int:
        """The version that every generator runs."""
        return self._version

    def take_up(self, version: int, weights: Reference) -> None:
        """Have every generator run these weights; who cannot is replaced by one that does."""
        self._version, self._weights = version, weights
        began = time.monotonic()
        calls = [(one, self._sent(one)) for one in self.members]
        found: list[Any] = []
        until = began + self._limits.update
        for member, call in calls:
            try:
                found.append(answer(call, max(0.0, until - time.monotonic()), _name(member)))
            except Exception as error:  # whatever it is, the generator does not run these weights
                self.replace(member, str(error))
        self.times = {name: max((getattr(one, name) for one in found), default=0.0) for name in MEASURED}
        self.times["publish"] = time.monotonic() - began

    def replace(self, member: Member, reason: str) -> None:
        """End a generator and start another in its place, with the current weights."""
        self.reasons.append(f"{_name(member)}: {reason}")
        while True:
            self.num_restarts += 1
            if self.num_restarts > self._limits.restarts:
                raise TooManyRestartsError(
                    f"generators were replaced {self._limits.restarts} times, runtime.restarts; the last: {reason}"
                )
            end(member.actor)
            member.actor = self._make(member.index, self.num_restarts)
            try:
                answer(member.actor.start.remote(), self._limits.start, _name(member))
                if self._weights is not None:
                    answer(self._sent(member), self._limits.update, _name(member))
                return
            except Exception as error:  # try again with another, as often as the recipe allows
                reason = str(error)

    def busy_seconds(self) -> float:
        """Time that generators had something to do, all together, so far; that of lost ones is lost."""
        total = 0.0
        for member in self.members:
            try:
                total += answer(member.actor.busy_seconds.remote(), LOOK_SECONDS, _name(member))
            except LostError:
                continue  # whoever waits for its answers will replace it
        return total

    def close(self) -> None:
        """End all generators, vLLM's own processes with them."""
        closing = [(one, one.actor.close.remote()) for one in self.members]
        until = time.monotonic() + CLOSE_SECONDS
        for member, call in closing:
            with suppress(Exception):  # it is ended next, whatever it says
                answer(call, max(0.0, until - time.monotonic()), _name(member))
            end(member.actor)

    def _sent(self, member: Member) -> Reference:
        return member.actor.take_up.remote(self._version, self._weights, self._limits.update)

    def _answer_all(self, calls: list[Reference], seconds: float) -> None:
        for index, call in enumerate(calls):
            try:
                answer(call, seconds, f"generator {index}")
            except Exception as error:
                raise LostError(f"generator {index} did not start: {error}") from error


def _name(member: Member) -> str:
    return f"generator {member.index}"
