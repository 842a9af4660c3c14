"""Runs on a cluster with somebody looking on who kills."""

import os
import random
import signal
import time
from pathlib import Path
from threading import Timer

import ray
from ray.exceptions import RayError

from scalerl.cluster.parts import parts_on_cluster
from scalerl.cluster.recovery import run
from scalerl.pipeline.running import resume, start
from scalerl.run.groups import read_groups


class Killer:
    """A watcher that ends a process of the run after certain steps, once each, a random moment later."""

    def __init__(self, when):
        self.when, self.parts, self.killed, self.steps = dict(when), None, [], []
        self._chance = random.Random(str(when))
        self._due = []

    def step(self, step, metrics):
        self.steps.append((step, dict(metrics)))
        if step in self.when:
            self._due.append(self.when.pop(step))
        if self._due:
            kind = self._due.pop()
            try:
                number = process_of(self.parts, kind, self._chance)
            except (RayError, StopIteration):  # it is dead already, and nobody has noticed
                self._due.append(kind)
                return
            Timer(self._chance.uniform(0, 1), self._kill, (kind, number)).start()

    def _kill(self, kind, number):
        try:
            os.kill(number, signal.SIGSTOP if kind.startswith("hang") else signal.SIGKILL)
            self.killed.append((kind, number))
        except ProcessLookupError:  # an earlier kill came before: whoever takes its place is next
            self._due.append(kind)

    def evaluated(self, points, forecasts, metrics):
        pass

    def alarm(self, text):
        pass

    def close(self):
        pass


def process_of(parts, kind, chance):
    """The process that holds a role; the engine is the generator's child."""
    if kind == "verifier":
        actor = parts.court._verifiers._verifiers[0].actor
    elif kind.endswith("trainer"):
        actor = chance.choice(parts.trainer._ranks)
    else:
        actor = parts.generator._pool.members[0].actor
    number = ray.get(actor.process.remote(), timeout=60)
    if kind == "machine":
        return parent_of(number)  # Ray's own process there, without which no other lives on
    if kind != "engine":
        return number
    return next(one for one in children_of(number) if b"EngineCore" in Path(f"/proc/{one}/cmdline").read_bytes())


def trained(recipe, place, when=(), is_resumed=False, stop=lambda: False):
    """A run to its end; what was noted, the killer and where the run stands."""
    killer, notes = Killer(when), []

    def watch(parts):
        killer.parts = parts
        return [killer]

    began = (resume if is_resumed else start)(recipe, place, watch, stop, parts_on_cluster)
    with began:
        run(began, notes.append)
        weights = ray.get(began.parts.trainer.weights(), timeout=60).tobytes()
        sums = [ray.get(one.actor.checksum.remote(), timeout=60) for one in began.parts.generator._pool.members]
        versions = [ray.get(one.actor.version.remote(), timeout=60) for one in began.parts.generator._pool.members]
    return notes, killer, weights, sums, versions


def admissions(place):
    """Every admission that a batch used, in the order of steps."""
    files = sorted((Path(place) / "rollouts").glob("*.jsonl"))
    return [group.admission for file in files for group in read_groups(file)]


def parent_of(number):
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(number):
    """Processes whose parent this is."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                told = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(told[1]) == number and told[0] != "Z":
                found.append(int(place.name))
    return found


def is_running(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone_within(numbers, seconds):
    until = time.monotonic() + seconds
    while any(map(is_running, numbers)) and time.monotonic() < until:
        time.sleep(0.2)
    return [one for one in numbers if is_running(one)]
