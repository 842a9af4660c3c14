"""Hundreds of programs of every kind, good, wrong and hostile, and nothing grows; 10,000 by `make soak-sandbox`."""

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from hostile import HOSTILE
from processes import below, wait_until

from scalerl.sandbox import Job, Limits, Sandbox

SUBMISSIONS = int(os.environ.get("SCALERL_SUBMISSIONS", "300"))
WORKERS = 2
SLOW = {"deep recursion", "deep recursion in C", "small objects", "large source", "zip bomb"}
QUICK = [one for one in HOSTILE if one.name not in SLOW]
BOMBS = [one for one in QUICK if one.kinds == ("memory",)]
GOOD = "n = int(input())\nprint(sum(i * i for i in range(n)))"
WRONG = "n = int(input())\nprint(sum(i * i for i in range(n)) - 1)"
KINDS = {"done", "error", "time", "memory", "output", "forbidden"}


def jobs(count):
    """Jobs, the kinds they may come to, and what they print where that is known.

    Two of three are honest, two of nine of these wrong; one of ten hostile ones is after memory alone.
    """
    draw = random.Random(0)
    for number in range(count):
        if draw.random() < 2 / 3:
            yield honest(draw, number % 1000)
        else:
            yield hostile(draw.choice(BOMBS if draw.random() < 1 / 10 else QUICK))


def honest(draw, number):
    total = sum(i * i for i in range(number))
    known = [("print(1 / 0)", "error", ""), (WRONG, "done", f"{total - 1}\n"), *[(GOOD, "done", f"{total}\n")] * 7]
    source, kind, stdout = draw.choice(known)
    return Job(source=source, stdin=str(number), limits=Limits(seconds=60)), (kind,), stdout


def hostile(one):
    """Cut short where it would only use up its time; a memory bomb has the time to go off."""
    limits = replace(one.limits, seconds=0.05 if "time" in one.kinds else 20, memory_mib=256)
    return Job(source=one.source, entry=one.entry, limits=limits), one.kinds, one.stdout


def measured(others):
    """What could leak, here and behind the wall, once nothing runs there but the workers; others are not ours."""

    def ours():
        return sorted(set(below(os.getpid())) - others)

    wait_until(lambda: len(ours()) == 2 * WORKERS)  # bubblewrap and fork server; keepers end after they answer
    inner = ours()
    return {
        "descriptors": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in (os.getpid(), *inner)),
        "mounts": sum(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()) for pid in inner),
        "MiB here": resident(os.getpid()),
        "MiB behind the wall": sum(map(resident, inner)),
    }


def resident(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)


def kinds(sandbox, wanted):
    """Run all, so many at a time, and count the kinds of outcome; nothing else is kept."""
    counted, lock = Counter(), threading.Lock()

    def work(_):
        while True:
            with lock:
                job, expected, stdout = next(wanted, (None, (), None))
            if job is None:
                return
            outcome = sandbox.run(job)
            assert outcome.kind in expected, (outcome.kind, outcome.detail, job.source[:300])
            assert stdout is None or outcome.stdout.strip() == stdout.strip()
            with lock:
                counted[outcome.kind] += 1

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    return counted


def test_nothing_grows():
    others = set(below(os.getpid()))
    with Sandbox() as sandbox:
        wait = Job(source="import time\ntime.sleep(0.5)", limits=Limits(seconds=60))
        kinds(sandbox, iter([(wait, ("done",), "")] * WORKERS))  # all workers are up
        kinds(sandbox, jobs(100))
        before = measured(others)
        counted = kinds(sandbox, jobs(SUBMISSIONS))
        print(counted, before, after := measured(others))
    assert set(counted) == KINDS
    assert after["descriptors"] == before["descriptors"]
    assert after["mounts"] == before["mounts"]
    assert after["MiB here"] < before["MiB here"] + 16
    assert after["MiB behind the wall"] < before["MiB behind the wall"] + 4
