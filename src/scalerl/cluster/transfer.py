"""How the trainer's weights reach the generators: through Ray's object store, or over NCCL between GPUs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from scalerl.cluster.calls import Reference, answer
from scalerl.cluster.members import Member
from scalerl.rollout.vllm.engine import UpdateTimes

LOOK_SECONDS = 60.0
"""How long generators may take, all of them, to say that they are there."""
MEASURED = ("pause", "load", "resume")
"""Phases of an update that a generator times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """What became of a publication: seconds of each phase, and who does not run the weights, with the reason."""

    times: dict[str, float]
    failed: Sequence[tuple[Member, str]] = field(default=())


class Transfer(Protocol):
    """A way from the trainers to the generators."""

    def publish(self, version: int, members: Sequence[Member]) -> Published:
        """Have all of them run the trainer's weights of this moment."""
        ...

    def weights(self, *, is_anew: bool) -> Reference | None:
        """The weights that were published last, for a newcomer; None before the first time.

        `is_anew`: put together again by the trainers, who may stand at the next version by then. That does no harm:
        probabilities are those of the weights that were drawn from, and a stamp is too old rather than too new.
        """
        ...


class Gathering(Protocol):
    """Trainers that put their weights together."""

    def weights(self) -> Reference:
        """The whole model in the object store."""
        ...


class StoreTransfer:
    """Gathered once into Ray's object store, which brings them to each machine; each generator loads on its own."""

    def __init__(self, trainer: Gathering, seconds: float) -> None:
        self._trainer, self._seconds = trainer, seconds
        self._weights: Reference | None = None

    def publish(self, version: int, members: Sequence[Member]) -> Published:
        """Gather, send, and wait for all; a generator that fails keeps no other waiting."""
        began = time.monotonic()
        weights = self._weights = self._trainer.weights()
        gathered = time.monotonic()
        calls = [(one, one.actor.take_up.remote(version, weights, self._seconds)) for one in members]
        until = gathered + self._seconds
        found: list[UpdateTimes] = []
        failed: list[tuple[Member, str]] = []
        for member, call in calls:
            try:
                found.append(answer(call, max(0.0, until - time.monotonic()), member.name))
            except Exception as error:  # whatever it is, the generator does not run these weights
                failed.append((member, str(error)))
        return Published(times=_times(gathered - began, found), failed=failed)

    def weights(self, *, is_anew: bool) -> Reference | None:
        """What was gathered last."""
        if is_anew and self._weights is not None:
            self._weights = self._trainer.weights()
        return self._weights


class Broadcasting(Gathering, Protocol):
    """Trainers that send their weights themselves."""

    def broadcast(self, version: int, generators: Sequence[Any], group: int) -> list[UpdateTimes]:
        """Have all generators receive at once; another group where others take part than before."""
        ...


class NcclTransfer:
    """From GPU to GPU: all generators receive at the same time. NOT RUN: see docs/cluster.md.

    Who takes part is settled before, because a member that is missing keeps all others waiting until the trainers
    are given up. A newcomer gets its first weights through the store and takes part from the next time on.
    """

    def __init__(self, trainer: Broadcasting, seconds: float) -> None:
        self._trainer, self._seconds = trainer, seconds
        self._is_published = False
        self._group: tuple[int, list[Any]] = (0, [])
        self._suspects: list[Any] = []
        """Who took part in a broadcast that failed: vLLM may wait in it for ever."""

    def publish(self, version: int, members: Sequence[Member]) -> Published:
        """Broadcast to those that answer; the others are named."""
        self._is_published = True
        failed = self._absent(members)
        absent = [member for member, _ in failed]
        present = [one.actor for one in members if one not in absent]
        found = self._broadcast(version, present) if present else []
        return Published(times=_times(0.0, found), failed=failed)

    def weights(self, *, is_anew: bool) -> Reference | None:
        """What the trainers hold now."""
        return self._trainer.weights() if self._is_published else None

    def _absent(self, members: Sequence[Member]) -> list[tuple[Member, str]]:
        """Who must not be waited for; vLLM itself is asked, which may hang in a process that lives."""
        failed: list[tuple[Member, str]] = []
        until = time.monotonic() + min(self._seconds, LOOK_SECONDS)
        for member, call in [(one, one.actor.version.remote()) for one in members]:
            try:
                answer(call, max(0.0, until - time.monotonic()), member.name)
            except Exception as error:  # it is replaced, and not waited for
                failed.append((member, str(error)))
            else:
                if any(member.actor is one for one in self._suspects):
                    failed.append((member, "took part in a broadcast that failed"))
        return failed

    def _broadcast(self, version: int, actors: list[Any]) -> list[UpdateTimes]:
        number, before = self._group
        if len(actors) != len(before) or any(one is not other for one, other in zip(actors, before, strict=True)):
            self._group = number + 1, actors
        self._suspects = actors
        found = self._trainer.broadcast(version, actors, self._group[0])
        self._suspects = []
        return found


def _times(gathered: float, found: Sequence[UpdateTimes]) -> dict[str, float]:
    """The longest of any generator, phase by phase."""
    longest = {name: max((getattr(one, name) for one in found), default=0.0) for name in MEASURED}
    return {"gather": gathered, **longest}
