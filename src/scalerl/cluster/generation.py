"""Groups of answers from the generators of a cluster, each admission exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray

from scalerl.cluster.calls import Reference, answer
from scalerl.cluster.errors import LostError
from scalerl.cluster.generator_actor import Answered, Job
from scalerl.cluster.pool import Member, Pool
from scalerl.errors import StoppedError
from scalerl.pipeline.roles import Answering
from scalerl.records import Group, Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.generator import BEGUN, SeedOf
from scalerl.run.groups import group_lines, read_groups

LOOK_SECONDS = 0.02
"""How long one look waits for something to be done."""
ATTEMPTS = 3
"""How often a group is asked whose generator answers with an error, before it is given up."""
FEWEST_FAILURES, LARGEST_SHARE = 5, 0.2
"""A run ends when so many groups, and such a share of all, had to be given up."""


@dataclass(kw_only=True, slots=True)
class _Open:
    prompt: Prompt
    job: Job
    version: int
    member: Member
    call: Reference
    deadline: float
    attempt: int = 1


class ClusterGenerator:
    """Asks the generators of a pool and keeps account: what was asked comes back once, or is given up by name."""

    def __init__(
        self,
        pool: Pool,
        encoder: Encoder,
        *,
        samples: int,
        temperature: float,
        seed_of: SeedOf,
        slots: int,
        seconds: float,
        weights: Callable[[], Reference] | None = None,
    ) -> None:
        self._pool, self._encoder, self._weights = pool, encoder, weights
        self._samples, self._temperature, self._seed_of = samples, temperature, seed_of
        self._slots, self._seconds = slots, seconds
        self._open: dict[int, _Open] = {}
        self._lost: list[int] = []
        self.num_sampled = 0
        self.num_prefilled = 0
        self.num_asked_again = 0
        self._num_asked, self._num_failed = 0, 0
        self._busy = (time.monotonic(), 0.0)

    @property
    def has_room(self) -> bool:
        """Whether a generator would stand idle if nothing more were asked."""
        return self._pool.least_loaded().load < self._slots

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return not self._open

    def ask(self, prompt: Prompt, admission: int) -> None:
        """Begin a group at the generator with the least to do."""
        seeds = tuple(self._seed_of(prompt, admission, place) for place in range(self._samples))
        job = Job(prompt=self._encoder.prompt(prompt), seeds=seeds, temperature=self._temperature)
        self._num_asked += 1
        self._send(prompt, admission, job, self._pool.version, attempt=1)

    def advance(self) -> list[Group]:
        """Wait a little; the groups that have come, in order of admission. Lost generators are replaced."""
        calls = {one.call: admission for admission, one in self._open.items()}
        if not calls:
            time.sleep(LOOK_SECONDS)
            return []
        done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=LOOK_SECONDS, fetch_local=False)
        found: list[Group] = []
        for admission in sorted(calls[one] for one in done):
            if admission in self._open and (group := self._received(admission)) is not None:
                found.append(group)
        self._replace_hung()
        return found

    def given_up(self) -> list[int]:
        """Admissions that failed as often as they may."""
        lost, self._lost = self._lost, []
        return lost

    def take_up(self, version: int) -> None:
        """Publish the trainer's weights to every generator, while they go on with what they have in hand."""
        assert self._weights is not None, "these answers are asked under weights that somebody else publishes"
        began = time.monotonic()
        weights = self._weights()
        gathered = time.monotonic() - began
        self._pool.take_up(version, weights)
        self._pool.times["gather"] = gathered

    def save(self, folder: Path) -> dict[str, Any]:
        """Write down what is in flight: prompts, admissions and versions; their tokens are sampled anew."""
        begun = [
            Group(
                prompt=one.prompt,
                prompt_tokens=one.job.prompt,
                rollouts=(),
                admission=admission,
                admitted_version=one.version,
            )
            for admission, one in self._open.items()
        ]
        (folder / BEGUN).write_bytes(group_lines(begun))
        counts = {"num_prefilled": self.num_prefilled, "num_sampled": self.num_sampled}
        return {"engine": counts, "version": self._pool.version}

    def load(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Publish the weights of the checkpoint first, then ask again what was in flight."""
        self._forget()
        self.follow(facts, int(facts["version"]))
        for group in read_groups(folder / BEGUN):
            self.ask(group.prompt, group.admission)

    def follow(self, facts: Mapping[str, Any], version: int) -> None:
        """Count on from another run's facts, at its version; what it had in flight stays behind."""
        self.num_prefilled = int(facts["engine"]["num_prefilled"])
        self.num_sampled = int(facts["engine"]["num_sampled"])
        self.take_up(version)

    def measures(self) -> dict[str, float]:
        """Phases of the last update, replacements, and how busy the generators were since the step before."""
        now, busy = time.monotonic(), self._pool.busy_seconds()
        (before, busy_before), self._busy = self._busy, (now, busy)
        share = (busy - busy_before) / max(1e-9, (now - before) * len(self._pool.members))
        return {
            "cluster/generators_idle_share": min(1.0, max(0.0, 1 - share)),
            "cluster/generators_replaced": float(self._pool.num_restarts),
            "cluster/groups_asked_again": float(self.num_asked_again),
            "cluster/groups_given_up": float(self._num_failed),
            **{f"cluster/update_{name}_seconds": seconds for name, seconds in self._pool.times.items()},
        }

    def _send(self, prompt: Prompt, admission: int, job: Job, version: int, *, attempt: int) -> None:
        member, call = self._pool.ask(job)
        self._open[admission] = _Open(
            prompt=prompt,
            job=job,
            version=version,
            member=member,
            call=call,
            deadline=time.monotonic() + self._seconds,
            attempt=attempt,
        )

    def _received(self, admission: int) -> Group | None:
        one = self._open[admission]
        try:
            answered: Answered = answer(one.call, self._seconds, f"generator {one.member.index}")
        except LostError as lost:
            self._replace(one.member, str(lost))
            return None
        except Exception as error:  # the generator lives and says that it cannot
            self._failed(admission, error)
            return None
        del self._open[admission]
        self._pool.done(one.member, one.job)
        self.num_sampled += sum(len(each.tokens) for each in answered.rollouts)
        self.num_prefilled += answered.num_prefilled
        return Group(
            prompt=one.prompt,
            prompt_tokens=one.job.prompt,
            rollouts=tuple(replace(each, text=self._encoder.text(each.tokens)) for each in answered.rollouts),
            admission=admission,
            admitted_version=one.version,
        )

    def _replace_hung(self) -> None:
        now, why = time.monotonic(), f"no answer within {self._seconds:g} s, runtime.answer_seconds"
        for member in self._pool.members:
            own = ((admission, one) for admission, one in self._open.items() if one.member is member)
            late = [admission for admission, one in own if one.deadline < now]
            if late:
                self._replace(member, why, blamed=late)

    def _replace(self, member: Member, reason: str, blamed: Sequence[int] = ()) -> None:
        """Replace a generator and ask anew everything that it had in hand, under the same admissions."""
        in_hand = {admission: one for admission, one in self._open.items() if one.member is member}
        self._pool.replace(member, reason)
        for admission, one in in_hand.items():
            self._ask_again(admission, one, reason, is_blamed=admission in blamed)

    def _failed(self, admission: int, error: Exception) -> None:
        one = self._open[admission]
        self._pool.done(one.member, one.job)
        self._ask_again(admission, one, str(error), is_blamed=True)

    def _ask_again(self, admission: int, one: _Open, reason: str, *, is_blamed: bool) -> None:
        """Send a group once more; one that was itself the reason, as often as it may be."""
        del self._open[admission]
        attempt = one.attempt + is_blamed
        if attempt <= ATTEMPTS:
            self.num_asked_again += 1
            self._send(one.prompt, admission, one.job, one.version, attempt=attempt)
            return
        self._num_failed += 1
        self._lost.append(admission)
        if self._num_failed >= FEWEST_FAILURES and self._num_failed > LARGEST_SHARE * self._num_asked:
            raise StoppedError(
                f"{self._num_failed} of {self._num_asked} groups were not answered in {ATTEMPTS} attempts each;"
                f" the last: {reason}"
            )

    def _forget(self) -> None:
        for one in self._open.values():
            self._pool.done(one.member, one.job)
        self._open, self._lost = {}, []


@dataclass(kw_only=True, slots=True)
class ClusterAsking:
    """Evaluations by the generators of the run, under the weights they have: training publishes none meanwhile."""

    pool: Pool
    encoder: Encoder
    samples: int
    temperature: float
    slots: int
    seconds: float
    num_tokens: int = 0

    def begin(self, step: int, seed_of: SeedOf) -> Answering:
        """A generator over the pool."""
        assert self.pool.version == step, f"generators run version {self.pool.version}, asked for {step}"
        return _Counted(
            self.pool,
            self.encoder,
            samples=self.samples,
            temperature=self.temperature,
            seed_of=seed_of,
            slots=self.slots,
            seconds=self.seconds,
            asking=self,
        )


class _Counted(ClusterGenerator):
    """Tells the evaluation what its answers cost."""

    def __init__(self, *arguments: Any, asking: ClusterAsking, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*arguments, **options)
        self._asking = asking

    def advance(self) -> list[Group]:
        before = self.num_sampled + self.num_prefilled
        found = super().advance()
        self._asking.num_tokens += self.num_sampled + self.num_prefilled - before
        return found
