"""Whatever the order of events, staleness keeps its rules, as a plain list of tickets reads them word by word."""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from scalerl.pipeline.staleness import Staleness


class AnyOrder(RuleBasedStateMachine):
    """Events in any order, beside a plain list of tickets that reads the rules word by word."""

    @initialize(
        phased=st.booleans(),
        k=st.integers(0, 4),
        shares=st.lists(st.integers(1, 3), min_size=1, max_size=2),
        ahead=st.integers(0, 4),
    )
    def begin(self, phased, k, shares, ahead):
        kind, k = ("phased", max(k, 1)) if phased else ("pipeline", k)
        ahead = 0 if phased else min(ahead, k)
        self.staleness = Staleness(kind, k, {f"task-{place}": share for place, share in enumerate(shares)}, ahead)
        self.running, self.done, self.taken = [], [], []
        self.num_admitted = self.num_used = self.num_lost = 0

    def outstanding(self, task):
        return [one for one in [*self.running, *self.done, *self.taken] if one.task == task]

    def batches_left(self):
        one = self.staleness
        return one.k + 1 if one.kind == "pipeline" else one.k - one.version % one.k

    def may_take(self, task, share):
        """The rule of the design, word by word."""
        now, bound = self.staleness.version, self.staleness.bound
        done = sorted(
            (one for one in self.done if one.task == task), key=lambda one: (one.version + bound, one.number)
        )
        awaited = self.staleness.ahead + 1 if self.staleness.kind == "pipeline" else self.batches_left()
        rest = [*done[share:], *(one for one in self.running if one.task == task)]
        return (
            not self.taken
            and len(done) >= awaited * share
            and all(sum(one.version + bound <= now + j for one in rest) <= j * share for j in range(bound + 1))
        )

    @precondition(lambda self: self.staleness.may_admit())
    @rule()
    def admit(self):
        ticket = self.staleness.admit()
        assert (ticket.number, ticket.version) == (self.num_admitted, self.staleness.version)
        self.num_admitted += 1
        self.running.append(ticket)

    def admit_all(self):
        while self.staleness.may_admit():
            self.admit()

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data):
        ticket = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.staleness.hand_over(ticket.number)
        self.done.append(ticket)

    @precondition(lambda self: not self.taken)
    @rule()
    def learn_from_the_newest(self):
        """The order that is hardest on deadlines: what was admitted last finishes first."""
        self.admit_all()
        while self.running and not self.staleness.may_take():
            self.done.append(self.running.pop())
            self.staleness.hand_over(self.done[-1].number)
        assert self.staleness.may_take()
        self.take()
        self.update()

    @precondition(lambda self: self.running or self.done)
    @rule(data=st.data())
    def lose(self, data):
        ticket = data.draw(st.sampled_from([*self.running, *self.done]))
        self.staleness.give_back(ticket.number)
        (self.running if ticket in self.running else self.done).remove(ticket)
        self.num_lost += 1

    @precondition(lambda self: self.staleness.may_take())
    @rule()
    def take(self):
        self.taken = list(self.staleness.take())
        assert [one.number for one in self.taken] == sorted(one.number for one in self.taken)
        assert max(self.staleness.version - one.version for one in self.taken) <= self.staleness.bound
        for task, share in self.staleness.shares.items():
            done = sorted(one.number for one in self.done if one.task == task)
            assert [one.number for one in self.taken if one.task == task] == done[:share]
        self.done = [one for one in self.done if one not in self.taken]

    @precondition(lambda self: self.taken)
    @rule()
    def update(self):
        self.staleness.updated()
        self.num_used += len(self.taken)
        self.taken = []

    @rule()
    def resume(self):
        one, state = self.staleness, json.dumps(self.staleness.state())
        self.staleness = Staleness(one.kind, one.k, one.shares, one.ahead)
        self.staleness.restore(json.loads(state))
        self.done += self.taken
        self.taken = []

    @invariant()
    def rules_hold(self):
        shares = self.staleness.shares
        room = [len(self.outstanding(task)) < self.batches_left() * share for task, share in shares.items()]
        assert self.staleness.may_admit() == any(room)
        assert self.staleness.may_take() == all(self.may_take(task, share) for task, share in shares.items())
        assert self.num_admitted == self.num_used + self.num_lost + sum(
            len(self.outstanding(task)) for task in shares
        )

    @invariant()
    def every_deadline_can_be_met(self):
        now, bound = self.staleness.version, self.staleness.bound
        for task, share in self.staleness.shares.items():
            due = [one.version + bound for one in self.outstanding(task)]
            assert all(sum(version <= now + j for version in due) <= (j + 1) * share for j in range(bound + 1))

    @invariant()
    def nothing_waits_for_ever(self):
        if not self.running and not self.taken:
            assert self.staleness.may_admit() or self.staleness.may_take()


def test_any_order_of_events_keeps_the_rules():
    run_state_machine_as_test(AnyOrder, settings=settings(stateful_step_count=60))
