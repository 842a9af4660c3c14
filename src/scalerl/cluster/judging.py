"""Groups put before verifiers in processes of their own; each comes back once, whoever dies meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from scalerl.cluster.calls import FETCH_SECONDS, Reference, answer, cancel, end
from scalerl.cluster.errors import LostError, TooManyRestartsError
from scalerl.cluster.generation import LOOK_SECONDS
from scalerl.cluster.pool import Limits
from scalerl.errors import InputError, StoppedError
from scalerl.pipeline.hearing import Hearing
from scalerl.records import Group
from scalerl.rollout.generator import SeedOf
from scalerl.run.groups import group_lines, read_groups

UNJUDGED = "unjudged.jsonl"
"""File of a checkpoint: groups that were before the verifiers."""


@dataclass(kw_only=True, slots=True, eq=False)
class _Verifier:
    index: int
    actor: Any
    load: int = 0
    heard: float = 0.0
    """When it last answered: it judges one call after the other, and others wait their turn."""


@dataclass(kw_only=True, slots=True)
class _Handed:
    groups: Sequence[Group]
    seed_of: SeedOf
    is_training: bool
    verifier: _Verifier
    actor: Any
    """Who the verifier was: all that it had in hand is lost with it, but it is replaced once."""
    since: float


class Verifiers:
    """Judges that are replaced when they die or hang; shared by training and evaluation."""

    def __init__(
        self, count: int, make: Callable[[int, int], Any], limits: Limits, tell: Callable[[str], None]
    ) -> None:
        self._make, self._limits, self._tell = make, limits, tell
        self.num_restarts = 0
        self._verifiers = [_Verifier(index=index, actor=make(index, 0)) for index in range(count)]
        for one in self._verifiers:
            self._wait_for(one)

    def hand_in(self, groups: Sequence[Group], seed_of: SeedOf, is_training: bool) -> tuple[Reference, _Handed]:
        """Give groups to the verifier with the least to do."""
        verifier = min(self._verifiers, key=lambda one: one.load)
        verifier.load += len(groups)
        call = verifier.actor.judged.remote(list(groups), seed_of, is_training)
        return call, _Handed(
            groups=groups,
            seed_of=seed_of,
            is_training=is_training,
            verifier=verifier,
            actor=verifier.actor,
            since=time.monotonic(),
        )

    def fetch(self, call: Reference, handed: _Handed) -> list[Group]:
        """What a verifier says; `LostError` after it has been replaced."""
        try:
            found = answer(call, FETCH_SECONDS, f"verifier {handed.verifier.index}")
        except LostError as lost:
            self.replace(handed, str(lost))
            raise
        except (StoppedError, InputError):
            raise
        except Exception as error:  # it lives and cannot: another would fare no better
            raise StoppedError(f"verifier {handed.verifier.index} cannot judge: {error}") from error
        self.forget(handed)
        handed.verifier.heard = time.monotonic()
        return found

    def is_late(self, handed: _Handed, now: float) -> bool:
        """Whether its verifier has said nothing for too long, to these groups or to others before them."""
        return now > max(handed.since, handed.verifier.heard) + self._limits.update

    def replace(self, handed: _Handed, reason: str) -> None:
        """End the verifier that these groups were handed to, and start another, unless that was done already."""
        verifier = handed.verifier
        if handed.actor is not verifier.actor:
            return
        while True:
            self.num_restarts += 1
            if self.num_restarts > self._limits.restarts:
                raise TooManyRestartsError(
                    f"verifiers were replaced {self._limits.restarts} times, runtime.restarts; the last: {reason}"
                )
            self._tell(f"verifier {verifier.index} is replaced: {reason}")
            end(verifier.actor)
            verifier.actor, verifier.load = self._make(verifier.index, self.num_restarts), 0
            try:
                self._wait_for(verifier)
                return
            except LostError as lost:  # try again with another, as often as the recipe allows
                reason = str(lost)

    def forget(self, handed: _Handed) -> None:
        """These groups are no longer before their verifier."""
        if handed.actor is handed.verifier.actor:
            handed.verifier.load -= len(handed.groups)

    def close(self) -> None:
        """End them all."""
        for one in self._verifiers:
            end(one.actor)

    def _wait_for(self, verifier: _Verifier) -> None:
        answer(verifier.actor.process.remote(), self._limits.start, f"verifier {verifier.index}")


class ClusterCourt:
    """One line of groups before the verifiers, with the seeds that belong to it."""

    def __init__(self, verifiers: Verifiers, seed_of: SeedOf, *, is_training: bool) -> None:
        self._verifiers, self._seed_of, self._is_training = verifiers, seed_of, is_training
        self._handed: dict[Reference, _Handed] = {}
        self._judged: list[Group] = []
        """What has come back and was not handed out: the look that found it may end in an error."""

    @property
    def is_idle(self) -> bool:
        """Whether everything that was handed in has come back."""
        return not (self._handed or self._judged)

    def hear(self, groups: Sequence[Group]) -> list[Hearing]:
        """Hand these in; what has been judged by now comes back, in order of admission."""
        if groups:
            self._hand_in(groups)
        if not self._handed:
            return []
        now = time.monotonic()  # replacing one may take long, and others have answered by then
        patience = 0.0 if groups else LOOK_SECONDS
        done, _ = ray.wait(list(self._handed), num_returns=len(self._handed), timeout=patience, fetch_local=False)
        for call in done:
            self._fetch(call)
        self._replace_hung(now)
        found, self._judged = self._judged, []
        return [Hearing.over(group) for group in sorted(found, key=lambda group: group.admission)]

    def save(self, folder: Path) -> None:
        """Write down the groups that are before the verifiers: they are answered, and in no other list."""
        waiting = [*self._judged, *(group for handed in self._handed.values() for group in handed.groups)]
        (folder / UNJUDGED).write_bytes(group_lines(waiting))

    def load(self, folder: Path) -> None:
        """Hand in what was written there; what was under way before belongs to another past."""
        for call, handed in self._handed.items():
            cancel(call)
            self._verifiers.forget(handed)
        self._handed, self._judged = {}, []
        if groups := list(read_groups(folder / UNJUDGED)):
            self._hand_in(groups)

    def _hand_in(self, groups: Sequence[Group]) -> None:
        call, handed = self._verifiers.hand_in(groups, self._seed_of, self._is_training)
        self._handed[call] = handed

    def _fetch(self, call: Reference) -> None:
        handed = self._handed[call]
        try:
            self._judged += self._verifiers.fetch(call, handed)
        except LostError:
            self._hand_in(handed.groups)
        del self._handed[call]  # not before: what raises anything else ends the run, and these are in no other list

    def _replace_hung(self, now: float) -> None:
        for call, one in list(self._handed.items()):
            if self._verifiers.is_late(one, now):
                self._verifiers.replace(one, "it has not answered in time")
                self._hand_in(one.groups)
                del self._handed[call]
