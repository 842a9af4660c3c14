"""A thousand schedules of a simulated engine: lag within its bound, nothing waits for ever, nothing is dropped."""

import heapq
import json
import random
import sys
from dataclasses import dataclass, field

from scalerl.pipeline.staleness import Staleness


@dataclass(frozen=True, kw_only=True)
class Schedule:
    kind: str
    k: int
    shares: dict
    ahead: int
    slots: int
    failing: float
    losing: float
    resuming: float
    training: float
    """Time of one update, in units of the shortest group; 0 is the interleaved loop."""
    is_eager: bool
    """Whether tickets are taken as soon as they may be, or only when a slot is free."""
    num_updates: int
    seed: int


def schedule(seed):
    rng = random.Random(seed)
    kind = rng.choice(["pipeline", "phased"])
    k = rng.randint(0 if kind == "pipeline" else 1, 16)
    batch = rng.choice([rng.randint(1, 64), round(64 ** rng.random())])
    cuts = sorted(rng.sample(range(1, batch), min(rng.choice([0, 0, 1, 2]), batch - 1)))
    shares = [high - low for low, high in zip([0, *cuts], [*cuts, batch], strict=True)]
    return Schedule(
        kind=kind,
        k=k,
        shares={f"task-{place}": share for place, share in enumerate(shares)},
        ahead=rng.choice([0, rng.randint(0, k)]) if kind == "pipeline" else 0,
        slots=rng.choice([1, rng.randint(1, batch), batch, (k + 1) * batch]),
        failing=rng.choice([0.0, 0.02, 0.3]),
        losing=rng.choice([0.0, 0.0, 0.01]),
        resuming=rng.choice([0.0, 0.0, 0.01]),
        training=rng.choice([0.0, 1.0, 10.0 * batch]),
        is_eager=rng.random() < 0.7,
        num_updates=k + rng.randint(2, k + 6),
        seed=seed,
    )


@dataclass(kw_only=True)
class Simulation:
    """Groups of heavy-tailed length on a few slots, and a trainer beside them."""

    schedule: Schedule
    staleness: Staleness = field(init=False)
    clock: float = 0.0
    busy: float = 0.0
    """Time that groups and updates took, added up."""
    queue: list = field(default_factory=list)
    running: list = field(default_factory=list)
    """A heap of (time of the end, number)."""
    training: list = field(default_factory=list)
    """The time at which the update being made ends, if any."""
    started_at: dict = field(default_factory=dict)
    largest_lag: int = 0
    num_admitted: int = 0
    num_learned: int = 0
    num_failed: int = 0

    def __post_init__(self):
        self.rng = random.Random(self.schedule.seed + 1_000_000)
        self.staleness = self.fresh()

    def fresh(self):
        one = self.schedule
        return Staleness(one.kind, one.k, one.shares, one.ahead)

    def run(self):
        while self.staleness.version < self.schedule.num_updates:
            self.admit()
            if not self.training and self.staleness.may_take():
                self.take()
            self.advance()
            if self.rng.random() < self.schedule.resuming:
                self.resume()
        return self

    def admit(self):
        one = self.schedule
        while self.staleness.may_admit() and (one.is_eager or len(self.queue) + len(self.running) < one.slots):
            self.queue.append(self.staleness.admit().number)
            self.num_admitted += 1
        while self.queue and len(self.running) < one.slots:
            number = self.queue.pop(self.rng.choice([0, 0, -1]))
            length = self.rng.paretovariate(1.1)
            self.busy += length
            self.started_at[number] = self.staleness.version
            heapq.heappush(self.running, (self.clock + length, number))

    def take(self):
        batch = self.staleness.take()
        now = self.staleness.version
        counts = dict.fromkeys(self.schedule.shares, 0)
        for ticket in batch:
            counts[ticket.task] += 1
            assert ticket.version <= self.started_at[ticket.number] <= now
            self.largest_lag = max(self.largest_lag, now - ticket.version)
        assert counts == self.schedule.shares
        self.busy += self.schedule.training
        self.training = [self.clock + self.schedule.training]

    def advance(self):
        """Go on to the next thing that ends; where nothing runs, everything would wait for ever."""
        if self.training and (not self.running or self.training[0] <= self.running[0][0]):
            self.clock = self.training.pop()
            self.staleness.updated()
            self.num_learned += sum(self.schedule.shares.values())
            return
        assert self.running, f"all wait for ever: {self.schedule}"
        self.clock, number = heapq.heappop(self.running)
        if self.rng.random() < self.schedule.failing:
            self.give_back(number)
        else:
            self.staleness.hand_over(number)
            if self.rng.random() < self.schedule.losing:
                self.give_back(self.rng.choice(self.staleness.finished).number)

    def give_back(self, number):
        self.staleness.give_back(number)
        self.num_failed += 1

    def resume(self):
        """Killed: an update being made is made again; groups in flight go on, or are lost with their engine."""
        state = json.dumps(self.staleness.state())
        self.staleness = self.fresh()
        self.staleness.restore(json.loads(state))
        self.training = []
        if self.rng.random() < 0.5:
            for ticket in self.staleness.in_flight:
                self.give_back(ticket.number)
            self.queue, self.running = [], []


def check(simulation):
    one, staleness = simulation.schedule, simulation.staleness
    outstanding = len(staleness.in_flight) + len(staleness.finished)
    bound = one.k if one.kind == "pipeline" else one.k - 1
    assert simulation.largest_lag <= bound, one
    if one.is_eager and not (one.failing or one.losing or one.resuming):
        assert simulation.largest_lag == bound, (
            one
        )  # all that is admitted at version 0 is learned from, the last at k
    assert simulation.num_learned == one.num_updates * sum(one.shares.values())
    # Nothing is dropped for being late: what was admitted was learned from, failed, or is still there.
    assert simulation.num_admitted == simulation.num_learned + simulation.num_failed + outstanding
    # At every moment a group or an update was under way, so the whole took no longer than all of them in turn.
    assert simulation.clock <= simulation.busy * (1 + 1e-9)
    return simulation


def test_lag_is_bounded_and_nothing_waits_for_ever_in_a_thousand_schedules(capsys):
    done = [check(Simulation(schedule=schedule(seed)).run()) for seed in range(1000)]
    at_bound = sum(one.largest_lag == one.staleness.bound for one in done)
    num_updates = sum(one.schedule.num_updates for one in done)
    num_groups, num_failed = sum(one.num_admitted for one in done), sum(one.num_failed for one in done)
    largest = {
        kind: max(one.largest_lag for one in done if one.schedule.kind == kind) for kind in ("pipeline", "phased")
    }
    assert largest == {"pipeline": 16, "phased": 15}
    assert {one.schedule.k for one in done} == set(range(17))
    assert {1, 64} <= {sum(one.schedule.shares.values()) for one in done}
    with capsys.disabled():
        print(
            f"\n1,000 schedules, {num_updates:,} updates, {num_groups:,} groups, {num_failed:,} failed or lost: "
            f"largest lag {largest['pipeline']} (pipeline, k up to 16), {largest['phased']} (phased); "
            f"{at_bound} schedules reached their bound, none exceeded it",
            file=sys.stderr,
        )
