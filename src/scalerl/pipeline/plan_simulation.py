"""The training loop as discrete events: who waits for whom, second by simulated second.

The rule of admission is not simulated but used: `Staleness`, the object that the loop itself asks. Sequences are a
fluid: those in flight on a generator share its tokens a second equally. What happens, exactly:

- The driver admits a group whenever `Staleness` allows it and a generator has a free slot, on the generator with
  the least load; answers that find no slot wait on that generator in order.
- A group is done with its last answer, and handed over `judge_seconds` later.
- When `Staleness` lets the trainers take a batch, they work for its tokens over their rate, and `overhead_seconds`.
  Generation goes on meanwhile, and so do admission and handing over unless the layout says otherwise.
- Then weights are published: all generators pause for `update_seconds`, the driver waits, and nothing is admitted
  or handed over. After that the version counts one more, and sequences go on where they were.
- On one device (`local`) generation stands still while a step is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from typing import Any

import numpy as np

from scalerl.pipeline.plan_generator import SimulatedGenerator, SimulatedGroup
from scalerl.pipeline.plan_terms import Layout, Rates, Workload
from scalerl.pipeline.staleness import Staleness

_TASK = "all"
_DRAWN_AT_ONCE = 64  # groups


class _Event(Enum):
    ENDED = 0
    JUDGED = 1
    TRAINED = 2
    PUBLISHED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStep:
    """One step that was made: when, from how many tokens, how stale, and which groups."""

    at: float
    """Seconds from the start to its published weights."""
    num_tokens: float
    lag_mean: float
    """Over tokens, as `lag/mean` of a run."""
    lag_max: int
    tickets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Seconds and tokens from the start, those of generators summed over them."""

    at: float = 0.0
    training_seconds: float = 0.0
    updating_seconds: float = 0.0
    writing_seconds: float = 0.0
    """Generators with at least one sequence in flight."""
    paused_seconds: float = 0.0
    slot_seconds: float = 0.0
    written_tokens: float = 0.0

    def since(self, earlier: Totals) -> Totals:
        """What came after an earlier moment."""
        return Totals(**{name: getattr(self, name) - getattr(earlier, name) for name in self.__slots__})


class Simulation:
    """One run of the loop with simulated time."""

    def __init__(self, layout: Layout, rates: Rates, workload: Workload, seed: int = 0) -> None:
        self._layout, self._rates, self._workload = layout, rates, workload
        self.staleness = Staleness(layout.kind, layout.k, {_TASK: workload.prompts}, layout.ahead)
        speeds = [0.0] + [rates.generated_per_second(n) / n for n in range(1, layout.slots + 1)]
        self._generators = [SimulatedGenerator(layout.slots, speeds) for _ in range(layout.generators)]
        self._lengths = self._drawn(np.random.default_rng(seed))
        self._events: list[tuple[float, int, _Event, Any]] = []
        self._num_events = 0
        self._groups: dict[int, SimulatedGroup] = {}
        self._landed: list[int] = []
        """Judged while the driver was busy."""
        self._batch: list[SimulatedGroup] = []
        self._now = self._training_seconds = self._updating_seconds = 0.0
        self._is_driver_busy = False
        self._is_at_bound = False
        """Whether the bound on staleness keeps groups out; if not, all slots are taken."""

    def steps(self) -> Iterator[tuple[SimulatedStep, Totals]]:
        """Make steps for ever."""
        self._admit()
        while True:
            self._now, _, event, what = heappop(self._events)
            match event:
                case _Event.ENDED:
                    self._end(what)
                case _Event.JUDGED:
                    self._land(what)
                case _Event.TRAINED:
                    self._publish()
                case _Event.PUBLISHED:
                    yield self._published()
                    self._go_on()

    def _drawn(self, random: np.random.Generator) -> Iterator[list[float]]:
        while True:
            yield from self._workload.lengths.draw(random, _DRAWN_AT_ONCE, self._workload.samples).tolist()

    def _push(self, at: float, event: _Event, what: Any = None) -> None:  # noqa: ANN401 - one of three kinds
        self._num_events += 1  # of two events at one time the older goes first
        heappush(self._events, (at, self._num_events, event, what))

    def _schedule(self, generator: SimulatedGenerator) -> None:
        if generator.next_end < math.inf:
            self._push(generator.next_end, _Event.ENDED, (generator, generator.next_end))

    def _admit(self) -> None:
        """Start groups while the bound allows it and a slot is free."""
        while not self._is_driver_busy:
            self._is_at_bound = not self.staleness.may_admit()
            generator = min(self._generators, key=lambda one: one.load)
            if self._is_at_bound or not generator.has_room:
                return
            self._start(generator)

    def _start(self, generator: SimulatedGenerator) -> None:
        lengths = next(self._lengths)
        ticket = self.staleness.admit().number
        group = SimulatedGroup(ticket=ticket, num_open=len(lengths), num_tokens=sum(lengths))
        self._groups[ticket] = group
        generator.advance(self._now)
        generator.ask(group, lengths)
        self._schedule(generator)

    def _end(self, scheduled: tuple[SimulatedGenerator, float]) -> None:
        """Sequences have ended on a generator, unless its pace changed after this was foreseen."""
        generator, foreseen = scheduled
        if generator.next_end != foreseen:
            return
        generator.advance(self._now)
        for group in generator.ended():
            if self._rates.judge_seconds:
                self._push(self._now + self._rates.judge_seconds, _Event.JUDGED, group.ticket)
            else:
                self._land(group.ticket)
        self._schedule(generator)
        if not self._is_at_bound and generator.has_room:
            self._admit()

    def _land(self, ticket: int) -> None:
        """A group is judged: hand it over now, or when the driver is free."""
        if self._is_driver_busy:
            self._landed.append(ticket)
            return
        self.staleness.hand_over(ticket)
        self._take()

    def _take(self) -> None:
        """Let the trainers begin a step if the next batch may go."""
        if not self.staleness.may_take():
            return
        self._batch = [self._groups.pop(ticket.number) for ticket in self.staleness.take()]
        tokens = self._rates.trained_ratio * sum(group.num_tokens for group in self._batch)
        seconds = tokens / self._rates.trained_per_second(self._layout.trainers) + self._rates.overhead_seconds
        self._training_seconds += seconds
        if self._layout.place == "local":
            self._pause(is_paused=True)
        self._is_driver_busy = self._layout.place == "local" or not self._layout.admits_while_training
        self._push(self._now + seconds, _Event.TRAINED)

    def _publish(self) -> None:
        self._is_driver_busy = True
        self._pause(is_paused=True)
        self._updating_seconds += self._rates.update_seconds
        self._push(self._now + self._rates.update_seconds, _Event.PUBLISHED)

    def _published(self) -> tuple[SimulatedStep, Totals]:
        """Count the step; its lag is that of the version it was made from."""
        version, batch = self.staleness.version, self._batch
        num_tokens = sum(group.num_tokens for group in batch)
        step = SimulatedStep(
            at=self._now,
            num_tokens=num_tokens,
            lag_mean=version - sum(group.sum_of_versions for group in batch) / num_tokens,
            lag_max=version - min(group.oldest_version for group in batch),
            tickets=tuple(group.ticket for group in batch),
        )
        self.staleness.updated()
        for generator in self._generators:
            generator.advance(self._now)
            generator.version = version + 1
        return step, self._totals()

    def _go_on(self) -> None:
        """The driver is free: hand over what has landed, begin the next step or admit, let generators write."""
        self._is_driver_busy = False
        self._pause(is_paused=False)
        landed, self._landed = self._landed, []
        for ticket in landed:
            self.staleness.hand_over(ticket)
        self._take()
        self._admit()

    def _pause(self, *, is_paused: bool) -> None:
        for generator in self._generators:
            generator.advance(self._now)
            generator.pause(is_paused=is_paused)
            self._schedule(generator)

    def _totals(self) -> Totals:
        of = self._generators
        return Totals(
            at=self._now,
            training_seconds=self._training_seconds,
            updating_seconds=self._updating_seconds,
            writing_seconds=sum(one.busy_seconds for one in of),
            paused_seconds=sum(one.paused_seconds for one in of),
            slot_seconds=sum(one.slot_seconds for one in of),
            written_tokens=sum(one.num_tokens for one in of),
        )
