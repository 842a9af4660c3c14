"""One generator of a simulated cluster: the sequences in its slots share what it decodes a second."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

_SAME = 1e-6  # tokens: rounding of a sum over millions of them


@dataclass(slots=True, kw_only=True)
class SimulatedGroup:
    """The answers to one prompt: how many are still being written, and under which versions."""

    ticket: int
    num_open: int
    num_tokens: float
    sum_of_versions: float = 0.0
    """Over its tokens."""
    oldest_version: int = 2**62


class SimulatedGenerator:
    """Decodes up to `slots` sequences at once, all equally fast; further ones wait for a slot in order.

    `written` is how many tokens a sequence has got that was there from the beginning: one that starts at w and has
    n tokens ends when `written` is w + n. So nothing has to be updated for the sequences one by one.
    """

    __slots__ = (
        "_ends",
        "_num_begun",
        "_queue",
        "_since",
        "_slots",
        "_speeds",
        "_version_sum",
        "busy_seconds",
        "in_flight",
        "is_paused",
        "next_end",
        "num_tokens",
        "paused_seconds",
        "slot_seconds",
        "version",
        "written",
    )

    def __init__(self, slots: int, speeds: Sequence[float]) -> None:
        self._slots, self._speeds = slots, speeds
        self._queue: deque[tuple[float, SimulatedGroup]] = deque()
        self._ends: list[tuple[float, int, float, float, SimulatedGroup]] = []
        self._since = self._version_sum = 0.0
        self._num_begun = self.in_flight = self.version = 0
        self.is_paused = False
        self.written = self.busy_seconds = self.paused_seconds = self.slot_seconds = self.num_tokens = 0.0
        self.next_end = math.inf
        """When the next sequence ends if nothing changes."""

    @property
    def load(self) -> int:
        """Sequences in slots and before them."""
        return self.in_flight + len(self._queue)

    @property
    def has_room(self) -> bool:
        """Whether a slot stands idle."""
        return self.in_flight + len(self._queue) < self._slots

    def advance(self, now: float) -> None:
        """Decode up to now."""
        seconds = now - self._since
        self._since = now
        if self.is_paused:
            self.paused_seconds += seconds
        elif self.in_flight:
            tokens = seconds * self._speeds[self.in_flight]
            self.written += tokens
            self._version_sum += tokens * self.version
            self.num_tokens += tokens * self.in_flight
            self.busy_seconds += seconds
            self.slot_seconds += seconds * self.in_flight

    def ask(self, group: SimulatedGroup, lengths: Iterable[float]) -> None:
        """Begin the answers of a group, those that find a slot now; call it after `advance`."""
        for length in lengths:
            self._queue.append((length, group))
        self._fill()

    def ended(self) -> list[SimulatedGroup]:
        """The groups whose last answer has ended; call it after `advance` to `next_end`."""
        whole: list[SimulatedGroup] = []
        until = max(self.written, self._ends[0][0]) + _SAME  # the first has ended, whatever rounding says
        while self._ends and self._ends[0][0] <= until:
            _, _, length, begun, group = heappop(self._ends)
            self.in_flight -= 1
            group.sum_of_versions += min(self._version_sum - begun, length * self.version)
            group.num_open -= 1
            if not group.num_open:
                whole.append(group)
        self._fill()
        return whole

    def pause(self, *, is_paused: bool) -> None:
        """Stand still, or go on."""
        self.is_paused = is_paused
        self._look_ahead()

    def _fill(self) -> None:
        while self._queue and self.in_flight < self._slots:
            length, group = self._queue.popleft()
            group.oldest_version = min(group.oldest_version, self.version)
            self.in_flight += 1
            self._num_begun += 1
            heappush(self._ends, (self.written + length, self._num_begun, length, self._version_sum, group))
        self._look_ahead()

    def _look_ahead(self) -> None:
        if self.is_paused or not self.in_flight:
            self.next_end = math.inf
        else:
            left = max(self._ends[0][0] - self.written, 0.0)
            self.next_end = self._since + left / self._speeds[self.in_flight]
