"""Leave to generate one group, and what is outstanding of one task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """Leave to generate one group of a task; the number is unique in a run, also after a resume."""

    number: int
    task: str
    version: int
    """Updates made when it was admitted: no token of its group is older."""


def in_order(tickets: Iterable[Ticket]) -> tuple[Ticket, ...]:
    """Tickets in the order of their admission, which is also the order in which they fall due."""
    return tuple(sorted(tickets, key=lambda ticket: ticket.number))


class Lane:
    """The outstanding groups of one task: in flight, finished, or part of the update being made."""

    def __init__(self, share: int) -> None:
        self.share = share
        self.in_flight: dict[int, Ticket] = {}
        self.finished: dict[int, Ticket] = {}
        self.taken: tuple[Ticket, ...] = ()
        # How many of each version: whether a share can be spared is asked often, and takes k steps, not k batches.
        self._in_flight_at: Counter[int] = Counter()

    def __contains__(self, number: int) -> bool:
        return number in self.in_flight or number in self.finished

    @property
    def num_outstanding(self) -> int:
        """Groups admitted and not yet used up."""
        return len(self.in_flight) + len(self.finished) + len(self.taken)

    def start(self, ticket: Ticket) -> None:
        """A group is in flight."""
        self.in_flight[ticket.number] = ticket
        self._in_flight_at[ticket.version] += 1

    def finish(self, number: int) -> None:
        """A group in flight has finished."""
        assert number in self.in_flight, f"ticket {number} was handed over before"
        self.finished[number] = self._land(number)

    def forget(self, number: int) -> None:
        """A group is lost, finished or not."""
        if number in self.finished:
            del self.finished[number]
        else:
            self._land(number)

    def take(self) -> None:
        """Set the finished groups that are due first apart for an update."""
        self.taken = in_order(self.finished.values())[: self.share]
        for ticket in self.taken:
            del self.finished[ticket.number]

    def use_up(self, oldest_version: int) -> None:
        """The update is made; nothing older than this version is left."""
        self.taken = ()
        del self._in_flight_at[oldest_version - 1]

    def can_spare_a_share(self, version: int, bound: int) -> bool:
        """Whether, without the finished groups due first, at most j shares are due by version + j, for every j.

        It is enough to count what is in flight: of all that is due by then, either a whole share has finished and
        goes, which leaves at most j of j + 1 shares, or all that has finished goes.
        """
        in_flight = 0
        for j in range(bound + 1):
            in_flight += self._in_flight_at[version - bound + j]
            if in_flight > j * self.share:
                return False
        return True

    def is_in_time(self, version: int, bound: int) -> bool:
        """Whether, learned from in order, a share an update, every group meets its deadline."""
        tickets = in_order([*self.in_flight.values(), *self.finished.values()])
        return all(version + place // self.share <= ticket.version + bound for place, ticket in enumerate(tickets))

    def _land(self, number: int) -> Ticket:
        ticket = self.in_flight.pop(number)
        self._in_flight_at[ticket.version] -= 1
        return ticket
