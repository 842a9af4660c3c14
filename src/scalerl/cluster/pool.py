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
from scalerl.cluster.errors import LostError, TooManyRestartsError, TrainersLostError
from scalerl.cluster.members import Member
from scalerl.cluster.transfer import Transfer

LOOK_SECONDS = 5.0
"""How long a generator may take to say how busy it was."""
CLOSE_SECONDS = 30.0
"""How long a generator may take to end by itself."""


@dataclass(kw_only=True, slots=True)
class Limits:
    """How long things may take, and how often they may fail."""

    start: float
    update: float
    restarts: int


class Pool:
    """Generators by number; `make` starts one in the place of that number, `tell` hears why one was replaced."""

    def __init__(
        self,
        count: int,
        make: Callable[[int, int], Any],
        limits: Limits,
        transfer: Transfer,
        tell: Callable[[str], None],
    ) -> None:
        self._make, self._limits, self._transfer, self._tell = make, limits, transfer, tell
        self._version = 0
        self.num_restarts = 0
        self.times: dict[str, float] = {}
        """Seconds of each phase of the last update: the longest of any generator."""
        members = [Member(index=index, actor=make(index, 0)) for index in range(count)]
        self._answer_all([one.actor.start.remote() for one in members], limits.start)
        self.members = members

    @property
    def version(self) -> int:
        """The version that every generator runs."""
        return self._version

    def take_up(self, version: int) -> None:
        """Have every generator run the trainer's weights; who cannot is replaced by one that does."""
        self._version = version
        began = time.monotonic()
        published = self._transfer.publish(version, self.members)
        for member, reason in published.failed:
            self.replace(member, reason)
        self.times = {**published.times, "publish": time.monotonic() - began}

    def replace(self, member: Member, reason: str) -> None:
        """End a generator and start another in its place, with the current weights."""
        is_anew = False
        while True:
            self.num_restarts += 1
            if self.num_restarts > self._limits.restarts:
                raise TooManyRestartsError(
                    f"generators were replaced {self._limits.restarts} times, runtime.restarts; the last: {reason}"
                )
            self._tell(f"{member.name} is replaced: {reason}")
            end(member.actor)
            member.take_place(self._make(member.index, self.num_restarts))
            try:
                answer(member.actor.start.remote(), self._limits.start, member.name)
                weights = self._transfer.weights(is_anew=is_anew)
                is_anew = True  # those that were there may have been lost with a machine
                if weights is not None:
                    self._give(member, weights)
                return
            except TrainersLostError:
                raise  # another would get no weights either
            except Exception as error:  # try again with another, as often as the recipe allows
                reason = str(error)

    def busy_seconds(self) -> float:
        """Time that generators had something to do, all together, so far; what a lost one did not tell is lost."""
        until = time.monotonic() + LOOK_SECONDS
        for member, call in [(one, one.actor.busy_seconds.remote()) for one in self.members]:
            try:
                member.busy = answer(call, max(0.0, until - time.monotonic()), member.name)
            except LostError:
                continue  # whoever waits for its answers will replace it
        return sum(one.busy_before + one.busy for one in self.members)

    def close(self) -> None:
        """End all generators, vLLM's own processes with them."""
        closing = [(one, one.actor.close.remote()) for one in self.members]
        until = time.monotonic() + CLOSE_SECONDS
        for member, call in closing:
            with suppress(Exception):  # it is ended next, whatever it says
                answer(call, max(0.0, until - time.monotonic()), member.name)
            end(member.actor)

    def _give(self, member: Member, weights: Reference) -> None:
        seconds = self._limits.update
        answer(member.actor.take_up.remote(self._version, weights, seconds), seconds, member.name)

    def _answer_all(self, calls: list[Reference], seconds: float) -> None:
        for index, call in enumerate(calls):
            try:
                answer(call, seconds, f"generator {index}")
            except Exception as error:
                raise LostError(f"generator {index} did not start: {error}") from error
