"""Which groups may start and which may be learned from, so that none is ever too old and none is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scalerl.errors import InputError
from scalerl.pipeline.tickets import Lane, Ticket, in_order
from scalerl.recipe.sections import Scheme


class Staleness:
    """Counts versions and outstanding groups such that every group is learned from with a lag of at most `bound`.

    A group admitted at version a and learned from at version v (before that step) has a lag of v - a; `bound` is
    k for `pipeline` and k - 1 for `phased`, so a group is due by version a + bound. Each task has its fixed share b
    of every batch and is counted apart.

    Invariant, at version v, for each task and every j = 0..bound: at most (j + 1) b outstanding groups are due by
    version v + j. It holds because
    - admission keeps at most (bound + 1) b outstanding, which is the case j = bound: nothing is due later. A group
      counts until `updated`, not only until `take`: what is admitted during an update still gets the old version;
    - `take` removes the b finished groups that are due first, and only if then at most j b are due by v + j, for
      every j. At v + 1 that is the invariant for j - 1, and j = 0 says that nothing due is left behind: no lag
      exceeds the bound, and nothing has to be dropped.
    Nothing waits for ever: once all outstanding groups have finished, removing the first b of (j + 1) b leaves j b,
    so `take` is allowed; before that, something is in flight. Versions stand still while the trainer waits, so it
    is safe to wait until (ahead + 1) b have finished, as long as that many may be outstanding (ahead <= k).

    `phased` admits k batches at one version, waits for all of them, and admits nothing until k updates have used
    them up; `phased` with k = 1 and `pipeline` with k = 0 are the same: the synchronous loop.

    The caller admits whenever it may, hands over or gives back every ticket, and calls `updated` when the next
    token will come from the new weights.
    """

    def __init__(self, kind: Scheme, k: int, shares: Mapping[str, int], ahead: int = 0) -> None:
        _check(kind, k, shares, ahead)
        self.kind: Scheme = kind
        self.k = k
        self.shares = dict(shares)
        self.ahead = ahead
        self._reset()

    @property
    def version(self) -> int:
        """Updates so far."""
        return self._version

    @property
    def bound(self) -> int:
        """The largest lag that can occur."""
        return self.k if self.kind == "pipeline" else self.k - 1

    @property
    def in_flight(self) -> tuple[Ticket, ...]:
        """Tickets that were neither handed over nor given back, in order of admission."""
        return in_order(ticket for lane in self._lanes.values() for ticket in lane.in_flight.values())

    @property
    def finished(self) -> tuple[Ticket, ...]:
        """Tickets handed over and not yet taken, in order of admission."""
        return in_order(ticket for lane in self._lanes.values() for ticket in lane.finished.values())

    def may_admit(self) -> bool:
        """Whether a group may start now."""
        return any(self._has_room(lane) for lane in self._lanes.values())

    @property
    def next_task(self) -> str:
        """The task of the group that would start now: tasks alternate by their shares."""
        open_tasks = [task for task, lane in self._lanes.items() if self._has_room(lane)]
        assert open_tasks, "not without may_admit(): too many groups are outstanding"
        return min(open_tasks, key=lambda task: self._lanes[task].num_outstanding / self.shares[task])

    def admit(self) -> Ticket:
        """Let one group of the next task start."""
        task = self.next_task
        ticket = Ticket(number=self._num_admitted, task=task, version=self._version)
        self._num_admitted += 1
        self._lanes[task].start(ticket)
        return ticket

    def hand_over(self, number: int) -> None:
        """A group has finished; this never waits."""
        self._lane_of(number).finish(number)

    def give_back(self, number: int) -> None:
        """A group failed or was lost, before or after it finished: another of its task may start."""
        self._lane_of(number).forget(number)

    def may_take(self) -> bool:
        """Whether the next batch is there and can go first."""
        return all(
            not lane.taken
            and len(lane.finished) >= self._num_awaited * lane.share
            and lane.can_spare_a_share(self._version, self.bound)
            for lane in self._lanes.values()
        )

    def take(self) -> tuple[Ticket, ...]:
        """The next batch: of each task the finished groups that are due first, all in order of admission."""
        assert self.may_take(), "take() without may_take(): an update is being made, or too little has finished"
        for lane in self._lanes.values():
            lane.take()
        batch = in_order(ticket for lane in self._lanes.values() for ticket in lane.taken)
        lag = self._version - batch[0].version
        assert 0 <= lag <= self.bound, f"lag {lag} exceeds {self.bound}"
        return batch

    def updated(self) -> None:
        """Count the update made from the batch taken: its groups are used up."""
        assert all(lane.taken for lane in self._lanes.values()), "updated() without take()"
        self._version += 1
        for lane in self._lanes.values():
            lane.use_up(oldest_version=self._version - self.bound)

    def state(self) -> dict[str, Any]:
        """Everything as JSON can hold it; an update that is being made counts as not begun."""
        taken = [ticket for lane in self._lanes.values() for ticket in lane.taken]
        return {
            "kind": self.kind,
            "k": self.k,
            "shares": self.shares,
            "version": self._version,
            "num_admitted": self._num_admitted,
            "in_flight": [[one.number, one.task, one.version] for one in self.in_flight],
            "finished": [[one.number, one.task, one.version] for one in in_order([*taken, *self.finished])],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; tickets in flight are in flight again."""
        for key in ("kind", "k", "shares"):
            if state[key] != getattr(self, key):
                raise InputError(
                    f"the checkpoint has {key} {state[key]!r}, this run {getattr(self, key)!r}: "
                    "groups in flight keep their bound only under the same off_policy and batch"
                )
        self._reset(version=state["version"], num_admitted=state["num_admitted"])
        for number, task, version in [*state["in_flight"], *state["finished"]]:
            self._lanes[task].start(Ticket(number=number, task=task, version=version))
        for number, task, _ in state["finished"]:
            self._lanes[task].finish(number)
        for task, lane in self._lanes.items():
            if not lane.is_in_time(self._version, self.bound):
                raise InputError(f"the checkpoint has more groups of task {task!r} than updates can take in time")

    def _reset(self, version: int = 0, num_admitted: int = 0) -> None:
        self._version = version
        self._num_admitted = num_admitted
        self._lanes = {task: Lane(share) for task, share in self.shares.items()}

    @property
    def _num_batches(self) -> int:
        """Most batches outstanding; a phase counts down to its end."""
        return self.k + 1 if self.kind == "pipeline" else self.k - self._version % self.k

    @property
    def _num_awaited(self) -> int:
        """Batches that must have finished before one is taken."""
        return self.ahead + 1 if self.kind == "pipeline" else self._num_batches

    def _has_room(self, lane: Lane) -> bool:
        return lane.num_outstanding < self._num_batches * lane.share

    def _lane_of(self, number: int) -> Lane:
        lane = next((lane for lane in self._lanes.values() if number in lane), None)
        assert lane is not None, f"ticket {number} is not outstanding"
        return lane


def _check(kind: Scheme, k: int, shares: Mapping[str, int], ahead: int) -> None:
    if kind == "phased" and k < 1:
        raise InputError(f"off_policy.k is {k}; phased makes k updates a phase: expected at least 1")
    if kind == "phased" and ahead != 0:
        raise InputError(f"off_policy.ahead is {ahead}; phased waits for its whole phase: expected 0")
    if not 0 <= ahead <= k and kind == "pipeline":
        raise InputError(f"off_policy.ahead is {ahead}; expected 0 to off_policy.k, {k}: no more may be waiting")
    if not shares or min(shares.values()) < 1:
        raise InputError(f"the shares of a batch are {dict(shares)}; expected at least one prompt of each task")
