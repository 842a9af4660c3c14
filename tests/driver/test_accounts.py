"""The driver's half of a cluster with generators of a few lines: what is asked comes back once, whoever dies."""

import os

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import asyncio
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import ray

from scalerl.cluster.errors import TooManyRestartsError
from scalerl.cluster.generation import ClusterGenerator
from scalerl.cluster.generator_actor import Answered
from scalerl.cluster.judging import ClusterCourt, Verifiers
from scalerl.cluster.layout import Layout
from scalerl.cluster.pool import Limits, Pool
from scalerl.cluster.session import joined, placed
from scalerl.cluster.transfer import NcclTransfer, StoreTransfer
from scalerl.errors import InputError, StoppedError
from scalerl.recipe.sections import RuntimeSection
from scalerl.records import Group, Prompt, Rollout
from scalerl.rollout.vllm.engine import UpdateTimes

START = 240.0  # seconds: two clusters at once on a busy machine are slow to start anybody
BEGUN, TOLD = [], []
"""Actors of the test, and what was said of replacements."""


class Trainer:
    """Has weights, and remembers to whom it sent them."""

    def __init__(self):
        self.sent = []

    def weights(self):
        return ray.put(b"")

    def broadcast(self, version, generators, group):
        self.sent.append((version, len(generators), group))
        return ray.get([one.take_up.remote(version, None, 30) for one in generators])


@dataclass
class Encoder:
    """Prompts are numbers, and are their own tokens."""

    def prompt(self, prompt):
        return np.array([int(prompt.id)], np.int32)

    def text(self, tokens):
        return " ".join(map(str, tokens))


class Fake:
    """Answers after a moment; dies, hangs or fails at the prompts it is told to, the first time."""

    def __init__(self, index, attempt, dies, hangs, fails):
        self._version, self._attempt = 0, attempt
        self._dies, self._hangs, self._fails = (dies, hangs, fails) if attempt == 0 else ((), (), fails)

    async def start(self):
        pass

    async def answer(self, job):
        number = int(job.prompt[0])
        await asyncio.sleep(0.01 * (number % 4))
        if number in self._dies:
            os._exit(1)
        if number in self._hangs:
            await asyncio.sleep(600)
        if number in self._fails:
            raise ValueError(f"prompt {number} is cursed")
        return Answered(rollouts=tuple(rollout(number, seed, self._version) for seed in job.seeds), num_prefilled=1)

    async def take_up(self, version, weights, seconds):
        self._version = version
        return UpdateTimes(pause=0.1, load=0.2, resume=0.3)

    async def busy_seconds(self):
        return 7.0

    async def version(self):
        return self._version

    async def close(self):
        pass


def rollout(number, seed, version):
    tokens = np.array([number, seed], np.int32)
    return Rollout(
        tokens=tokens, behavior=np.zeros(2, np.float32), versions=np.full(2, version, np.int32),
        is_trainable=np.ones(2, bool), ending="stopped", is_interrupted=False,
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with joined(None, RuntimeSection()):
        yield


@pytest.fixture(autouse=True)
def ended():
    """Actors end with their test: those of twenty tests together would be slow to start."""
    yield
    while BEGUN:
        ray.kill(BEGUN.pop())


def begun(kind, *given, **options):
    BEGUN.append(ray.remote(kind).options(num_cpus=0, **options).remote(*given))
    return BEGUN[-1]


def killed(actor):
    """End an actor and wait until it is gone: `ray.kill` returns before, and the actor may still answer a call."""
    ray.kill(actor)
    until = time.monotonic() + START
    while time.monotonic() < until:
        try:
            ray.get(actor.__ray_ready__.remote(), timeout=START)
        except ray.exceptions.ActorDiedError:
            return
        except ray.exceptions.ActorUnavailableError:
            continue  # it is dead, and Ray does not know it yet
    raise AssertionError(f"{actor} lives {START:g} s after it was killed")


def generator(count=2, *, dies=(), hangs=(), fails=(), restarts=9, seconds=30.0):
    def make(index, attempt):
        return begun(Fake, index, attempt, dies, hangs, fails, max_concurrency=64)

    pool = Pool(
        count, make, Limits(start=START, update=30, restarts=restarts), StoreTransfer(Trainer(), 30), TOLD.append
    )
    return ClusterGenerator(
        pool, Encoder(), samples=3, temperature=1.0, seed_of=lambda _, admission, place: 10 * admission + place,
        slots=12, seconds=seconds,
    )  # fmt: skip


def answered(one, count):
    for number in range(count):
        one.ask(prompt(number), 100 + number)
    found = []
    while not one.is_idle:
        found += one.advance()
    return found


def prompt(number):
    return Prompt(id=str(number), task="t", text="", answer=None)


def check_once(found, count, but=()):
    assert sorted(group.admission for group in found) == [100 + n for n in range(count) if n not in but]
    for group in found:
        assert [list(one.tokens) for one in group.rollouts] == [
            [group.admission - 100, 10 * group.admission + place] for place in range(3)
        ]


def test_every_admission_comes_back_once():
    one = generator()
    found = answered(one, 40)
    check_once(found, 40)
    assert one.num_sampled == 40 * 3 * 2 and one.num_prefilled == 40
    assert not +one._load


def test_an_evaluation_does_not_wait_for_answers_that_training_has_not_fetched():
    """Training is not looked after meanwhile: what it has in hand must not keep a generator from anybody else."""
    training = generator(count=1)
    for number in range(20):
        training.ask(prompt(number), 100 + number)
    evaluation = ClusterGenerator(
        training._pool, Encoder(), samples=3, temperature=1.0,
        seed_of=lambda _, admission, place: 10 * admission + place, slots=12, seconds=30.0,
    )  # fmt: skip
    check_once(answered(evaluation, 20), 20)


def test_what_a_dead_generator_had_in_hand_is_asked_again_and_the_new_one_has_the_weights():
    one = generator(dies=(7, 20))
    one.take_up(5)
    found = answered(one, 30)
    check_once(found, 30)
    assert {int(v) for group in found for each in group.rollouts for v in each.versions} == {5}
    assert one.measures()["cluster/generators_replaced"] >= 1 and one.num_asked_again >= 1


def test_a_generator_that_hangs_is_given_up_after_its_time():
    one, told = generator(hangs=(3,), seconds=12.0), len(TOLD)
    check_once(answered(one, 12), 12)
    assert one._pool.num_restarts in (1, 2) and "is replaced: no answer within 12 s" in TOLD[told]


def exhausted(one, act):
    with pytest.raises(TooManyRestartsError):
        while True:
            act(one)


def test_a_run_that_gives_up_keeps_every_group(tmp_path):
    """What came with the look that ended it is in the checkpoint, like what never came."""
    one, found = generator(dies=(5,), restarts=0), []
    for number in range(8):
        one.ask(prompt(number), 100 + number)
    exhausted(one, lambda it: found.extend(it.advance()))
    facts = one.save(tmp_path)
    other = generator()
    other.load(tmp_path, facts)
    while not other.is_idle:
        found += other.advance()
    check_once(found, 8)


def test_time_that_a_lost_generator_was_busy_is_not_taken_back(monkeypatch):
    monkeypatch.setattr("scalerl.cluster.pool.LOOK_SECONDS", START)
    one = generator()
    assert one._pool.busy_seconds() == 14
    one._pool.replace(one._pool.members[0], "for a test")
    assert one._pool.busy_seconds() == 21


def test_a_broadcast_leaves_out_who_is_dead_and_forms_a_new_group_for_who_came():
    one, trainer = generator(), Trainer()
    pool = one._pool
    pool._transfer = NcclTransfer(trainer, START)
    pool.take_up(1)
    pool.take_up(2)
    killed(pool.members[0].actor)
    pool.take_up(3)  # to the one that lives; the newcomer gets the same through the store
    assert {int(v) for each in answered(one, 8) for r in each.rollouts for v in r.versions} == {3}
    pool.take_up(4)
    assert trainer.sent == [(1, 2, 1), (2, 2, 1), (3, 1, 2), (4, 2, 3)]
    assert pool.num_restarts == 1 and set(pool.times) == {"gather", "pause", "load", "resume", "publish"}


def test_a_rollback_drops_what_generators_have_in_hand(tmp_path):
    """Orphans would take the slots of what is asked next."""
    one = generator(count=1, hangs=tuple(range(4)), seconds=600)
    facts = one.save(tmp_path)
    for number in range(4):
        one.ask(prompt(number), 100 + number)
    calls = [sent.call for sent in one._open.values()]
    one.load(tmp_path, facts)
    assert one.is_idle
    for call in calls:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(call, timeout=30)


def test_a_group_that_always_fails_is_given_up_by_name():
    one = generator(fails=(4,))
    found = answered(one, 30)
    check_once(found, 30, but=(4,))
    assert one.given_up() == [104] and one.given_up() == []


def test_many_failures_end_the_run_and_say_why():
    with pytest.raises(StoppedError, match=r"of the last \d+ groups were not answered.*cursed"):
        answered(generator(fails=tuple(range(0, 40, 2))), 40)


def test_restarts_are_counted():
    with pytest.raises(TooManyRestartsError, match=r"replaced 0 times, runtime\.restarts"):
        answered(generator(dies=(1,), restarts=0), 8)


def test_what_is_in_flight_survives_a_checkpoint(tmp_path):
    one = generator(hangs=(2, 5), seconds=600)
    for number in range(8):
        one.ask(prompt(number), 100 + number)
    found = []
    while len(found) < 6:
        found += one.advance()
    facts = one.save(tmp_path)
    other = generator()
    other.load(tmp_path, facts)
    while not other.is_idle:
        found += other.advance()
    check_once(found, 8)
    assert other.num_sampled == 8 * 3 * 2


def test_the_page_names_what_a_cluster_logs():
    one = generator()
    one.take_up(1)
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    others = {"cluster/verifiers_replaced", "cluster/trainers_restarted"}
    assert set(one.measures()) | others == set(re.findall(r"^\| `(cluster/[^`]+)` \|", page, flags=re.MULTILINE))


def test_bundles_follow_the_recipe():
    layout = Layout.of(RuntimeSection(generators=3, trainers=2, tensor_parallel=2), has_gpus=True)
    assert layout.num_devices == 8 and [one["GPU"] for one in layout.bundles] == [2, 2, 2, 1, 1]


def test_joining_without_authentication_is_refused(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(InputError, match="token authentication"), joined("127.0.0.1:1", RuntimeSection()):
        pass


class SlowJudge:
    """Takes as long as it is told, and marks what it has seen."""

    def __init__(self, seconds):
        self._seconds = seconds

    def process(self):
        return os.getpid()

    def judged(self, groups, seed_of, is_training):
        time.sleep(self._seconds)
        return [replace(group, admitted_version=9) for group in groups]


class BrokenJudge:
    def judged(self, groups, seed_of, is_training):
        raise RuntimeError("no bench")


def court(seconds=0.0, restarts=9, patience=30.0):
    def make(index, attempt):
        return begun(SlowJudge, seconds if attempt == 0 else 0.0)

    verifiers = Verifiers(2, make, Limits(start=START, update=patience, restarts=restarts), TOLD.append)
    return ClusterCourt(verifiers, seed, is_training=True)


def seed(prompt, admission, place):
    return 0


def groups(*admissions):
    return [
        Group(
            prompt=prompt(1), prompt_tokens=np.array([1], np.int32), rollouts=(), admission=one, admitted_version=0
        )
        for one in admissions
    ]


def drained(one):
    found = []
    while not one.is_idle:
        found += [hearing.group() for hearing in one.hear([])]
    assert all(group.admitted_version == 9 for group in found)
    return sorted(group.admission for group in found)


def test_what_a_dead_verifier_had_is_judged_once_by_another():
    one = court(seconds=30)
    for number in range(6):
        one.hear(groups(number, 10 + number))
    for verifier in one._verifiers._verifiers:
        ray.kill(verifier.actor)
    assert drained(one) == [*range(6), *range(10, 16)]
    assert one._verifiers.num_restarts == 2  # each once, however much it had in hand


def test_a_run_that_gives_up_keeps_what_was_before_the_verifiers(tmp_path):
    one = court(seconds=30, restarts=0)
    one.hear(groups(5, 6))
    for verifier in one._verifiers._verifiers:
        ray.kill(verifier.actor)
    exhausted(one, lambda it: it.hear([]))
    one.save(tmp_path)
    other = court()
    other.load(tmp_path)
    assert drained(other) == [5, 6]


def test_a_verifier_with_a_long_line_before_it_is_not_taken_for_a_hung_one():
    one = court(seconds=2.0, patience=12.0)
    for number in range(14):  # seven calls each: fourteen seconds until the last answer
        one.hear(groups(number))
    assert drained(one) == list(range(14)) and one._verifiers.num_restarts == 0


def test_a_verifier_that_cannot_judge_ends_the_run_with_the_reason():
    one = court()
    one._verifiers._verifiers[0].actor = one._verifiers._verifiers[1].actor = begun(BrokenJudge)
    one.hear(groups(1))
    with pytest.raises(StoppedError, match=r"verifier \d cannot judge: no bench"):
        drained(one)


def test_a_verifier_that_hangs_is_replaced():
    one = court(seconds=120, patience=12.0)
    one.hear(groups(1, 2))
    assert drained(one) == [1, 2] and one._verifiers.num_restarts == 1


def test_groups_before_the_verifiers_survive_a_checkpoint(tmp_path):
    """They are in no other list: lost, their tickets would stay in flight and the run would wait for ever."""
    one = court(seconds=30)
    one.hear(groups(3, 4))
    one.save(tmp_path)
    other = court()
    other.hear(groups(99))  # of a past that the checkpoint knows nothing of
    other.load(tmp_path)
    assert drained(other) == [3, 4]


def test_a_layout_that_does_not_fit_says_at_once_what_it_waits_for():
    layout, told = Layout(generators=2, tensor_parallel=4, trainers=1, verifiers=1, has_gpus=True), []
    state = "runtime asks for 3 CPUs and 9 GPUs; the cluster has 8 CPUs and 0 GPUs"
    with pytest.raises(InputError, match=state):
        placed(layout, 0.5, told.append)
    assert told == [f"{state}: waiting 0.5 s for more"]
