"""Groups of answers from the generators of a cluster, each admission exactly once."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray

from scalerl.cluster.calls import FETCH_SECONDS, Reference, answer, cancel
from scalerl.cluster.errors import AnswersFailedError, LostError
from scalerl.cluster.generator_actor import Answered, Job
from scalerl.cluster.members import Member
from scalerl.cluster.pool import Pool
from scalerl.pipeline.roles import Answering
from scalerl.records import Group, Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.generator import BEGUN, SeedOf
from scalerl.run.groups import group_lines, read_groups

LOOK_SECONDS = 0.02
"""How long one look waits for something to be done."""
ATTEMPTS = 3
"""How often a group is asked whose generator answers with an error, before it is given up."""
RECENT, FEWEST_FAILURES, LARGEST_SHARE = 100, 5, 0.2
"""A run ends when, of the last groups, at least so many and more than such a share had to be given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A group that is wanted."""

    prompt: Prompt
    job: Job
    version: int
    attempt: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sent:
    """A group that a generator has in hand."""

    asked: _Asked
    member: Member
    actor: Any
    """Who the member was: it may have been replaced since, by whoever noticed first."""
    call: Reference
    deadline: float


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
    ) -> None:
        self._pool, self._encoder = pool, encoder
        self._samples, self._temperature, self._seed_of = samples, temperature, seed_of
        self._slots, self._seconds = slots, seconds
        self._queue: dict[int, _Asked] = {}
        self._load: Counter[int] = Counter()
        """Answers that each generator owes, by its index."""
        self._open: dict[int, _Sent] = {}
        self._lost: dict[int, _Asked] = {}
        self._come: dict[int, Group] = {}
        """Whole groups that have not been handed out: the look that found them may end in an error."""
        self._recent: deque[bool] = deque(maxlen=RECENT)
        """Whether each of the last groups was given up."""
        self.num_sampled = 0
        self.num_prefilled = 0
        self.num_asked_again = 0
        self.num_given_up = 0
        self._busy = (time.monotonic(), 0.0)

    @property
    def has_room(self) -> bool:
        """Whether a generator would stand idle if nothing more were asked."""
        return not self._queue and self._least_loaded() is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return not (self._open or self._queue or self._come)

    def ask(self, prompt: Prompt, admission: int) -> None:
        """Begin a group at the generator with the least to do, as soon as it has room."""
        self._want(prompt, admission, self._pool.version)

    def advance(self) -> list[Group]:
        """Wait a little; the groups that have come, in order of admission. Lost generators are replaced."""
        now = time.monotonic()  # before anything is waited for: a replacement takes long, and nobody is to blame
        self._send_what_fits()
        calls = {one.call: admission for admission, one in self._open.items()}
        if not calls:
            time.sleep(LOOK_SECONDS)
            return []
        done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=LOOK_SECONDS, fetch_local=False)
        for call in sorted(done, key=calls.__getitem__):
            sent = self._open.get(calls[call])
            if sent is not None and sent.call == call:
                self._receive(calls[call])
        self._replace_hung(now)
        found, self._come = self._come, {}
        return [found[admission] for admission in sorted(found)]

    def given_up(self) -> list[int]:
        """Admissions that failed as often as they may."""
        lost, self._lost = list(self._lost), {}
        return lost

    def take_up(self, version: int) -> None:
        """Publish the trainer's weights to every generator, while they go on with what they have in hand."""
        self._pool.take_up(version)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write down what is wanted and not there yet: prompts, admissions, versions; tokens are sampled anew."""
        in_hand = {admission: one.asked for admission, one in self._open.items()}
        begun = [_begun(one, admission) for admission, one in (self._lost | in_hand | self._queue).items()]
        begun += [replace(one, rollouts=()) for one in self._come.values()]
        (folder / BEGUN).write_bytes(group_lines(sorted(begun, key=lambda one: one.admission)))
        counts = {"num_prefilled": self.num_prefilled, "num_sampled": self.num_sampled}
        return {"engine": counts, "version": self._pool.version}

    def load(self, folder: Path, facts: Mapping[str, Any]) -> None:
        """Publish the weights of the checkpoint, then ask again what was in flight; what is now is dropped."""
        for sent in self._open.values():
            cancel(sent.call)
        self._queue, self._open, self._lost, self._come = {}, {}, {}, {}
        self._load.clear()
        self.follow(facts, int(facts["version"]))
        for group in read_groups(folder / BEGUN):
            self._want(group.prompt, group.admission, group.admitted_version)

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
            "cluster/groups_given_up": float(self.num_given_up),
            **{f"cluster/update_{name}_seconds": seconds for name, seconds in self._pool.times.items()},
        }

    def _want(self, prompt: Prompt, admission: int, version: int) -> None:
        seeds = tuple(self._seed_of(prompt, admission, place) for place in range(self._samples))
        job = Job(prompt=self._encoder.prompt(prompt), seeds=seeds, temperature=self._temperature)
        self._queue[admission] = _Asked(prompt=prompt, job=job, version=version)
        self._send_what_fits()

    def _send_what_fits(self) -> None:
        """A group's time begins when a generator gets it, not while it waits for one."""
        while self._queue and (member := self._least_loaded()) is not None:
            admission = next(iter(self._queue))
            asked = self._queue.pop(admission)
            self._load[member.index] += len(asked.job.seeds)
            self._open[admission] = _Sent(
                asked=asked,
                member=member,
                actor=member.actor,
                call=member.actor.answer.remote(asked.job),
                deadline=time.monotonic() + self._seconds,
            )

    def _least_loaded(self) -> Member | None:
        """The generator with the least of ours in hand, if it has room; what others ask of it is theirs."""
        member = min(self._pool.members, key=lambda one: self._load[one.index])
        return member if self._load[member.index] < self._slots else None

    def _receive(self, admission: int) -> None:
        sent = self._open[admission]
        try:
            answered: Answered = answer(sent.call, FETCH_SECONDS, sent.member.name)
        except LostError as lost:
            self._replace(sent, str(lost))
            return
        except Exception as error:  # the generator lives and says that it cannot
            self._ask_again(admission, str(error), is_blamed=True)
            return
        self._close(admission)
        self._recent.append(False)
        self.num_sampled += sum(len(each.tokens) for each in answered.rollouts)
        self.num_prefilled += answered.num_prefilled
        rollouts = tuple(replace(each, text=self._encoder.text(each.tokens)) for each in answered.rollouts)
        self._come[admission] = replace(_begun(sent.asked, admission), rollouts=rollouts)

    def _replace_hung(self, now: float) -> None:
        why = f"no answer within {self._seconds:g} s, runtime.answer_seconds"
        while late := [admission for admission, one in self._open.items() if one.deadline < now]:
            self._replace(self._open[late[0]], why, blamed=late)

    def _replace(self, sent: _Sent, reason: str, blamed: Sequence[int] = ()) -> None:
        """Replace a generator, unless somebody has, and ask anew what it had in hand, under the same admissions."""
        if sent.member.actor is sent.actor:
            self._pool.replace(sent.member, reason)
        for admission in [admission for admission, one in self._open.items() if one.actor is sent.actor]:
            self._ask_again(admission, reason, is_blamed=admission in blamed)

    def _ask_again(self, admission: int, reason: str, *, is_blamed: bool) -> None:
        """Ask for a group once more; one that was itself the reason, as often as it may be."""
        asked = self._close(admission)
        asked = replace(asked, attempt=asked.attempt + is_blamed)
        if asked.attempt <= ATTEMPTS:
            self.num_asked_again += 1
            self._queue[admission] = asked
            return
        self.num_given_up += 1
        self._lost[admission] = asked
        self._recent.append(True)
        failed = sum(self._recent)
        if failed >= FEWEST_FAILURES and failed > LARGEST_SHARE * len(self._recent):
            raise AnswersFailedError(
                f"{failed} of the last {len(self._recent)} groups were not answered in {ATTEMPTS} attempts each;"
                f" the last: {reason}"
            )

    def _close(self, admission: int) -> _Asked:
        sent = self._open.pop(admission)
        self._load[sent.member.index] -= len(sent.asked.job.seeds)
        return sent.asked


def _begun(asked: _Asked, admission: int) -> Group:
    """A group without its answers."""
    return Group(
        prompt=asked.prompt,
        prompt_tokens=asked.job.prompt,
        rollouts=(),
        admission=admission,
        admitted_version=asked.version,
    )


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
