"""How many short programs a second the sandbox runs, and what isolation costs.

    python bench/sandbox.py

Four ways to run the same program: in the sandbox with one worker and with two; by a fork of a warm interpreter
without any isolation, which is what the sandbox would be without its walls; and by a new bubblewrap with a new
interpreter each time. They take turns, so that a busy machine is as busy for each; the cost of isolation is the
time of a run beyond a plain fork.
"""

import argparse
import contextlib
import io
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from scalerl.sandbox import Job, Limits, Sandbox, require
from scalerl.sandbox.worker import Worker

PRIMES = """
n = int(input())
print(sum(all(i % j for j in range(2, int(i**0.5) + 1)) for i in range(2, n)))
"""
JOB = Job(source=PRIMES, stdin="500\n", limits=Limits(seconds=60))
ANSWER = "95\n"


def in_sandbox(sandbox, pool, count):
    outcomes = list(pool.map(sandbox.run, [JOB] * count))
    assert all(one.stdout == ANSWER for one in outcomes)


def by_fork(count):
    """Fork, run the program with its output in a pipe, wait: no limits, no walls."""
    for _ in range(count):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(JOB.source, {"__name__": "__main__", "input": lambda: JOB.stdin})
            os.write(write, out.getvalue().encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 100) == ANSWER.encode()
        os.close(read)
        os.waitpid(child, 0)


def cold(count):
    for _ in range(count):
        worker = Worker()
        assert worker.run(JOB).stdout == ANSWER
        worker.close()


def seconds_each(way, count):
    begin = time.perf_counter()
    way(count)
    return (time.perf_counter() - begin) / count


def measured(rounds, count):
    """Seconds a program, by name of the way and round."""
    with Sandbox() as sandbox, ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        ways = {
            "plain fork, no isolation": (by_fork, count),
            "sandbox, 1 worker": (lambda count: in_sandbox(sandbox, one, count), count),
            "sandbox, 2 workers": (lambda count: in_sandbox(sandbox, two, count), count),
            "bubblewrap started anew": (cold, max(1, count // 20)),
        }
        for way, some in ways.values():
            way(some)  # not timed: workers start here
        turns = [{name: seconds_each(*way) for name, way in ways.items()} for _ in range(rounds)]
    return {name: [turn[name] for turn in turns] for name in ways}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--programs", type=int, default=100)
    asked = parser.parse_args()
    require()
    times = measured(asked.rounds, asked.programs)
    for name, all_times in times.items():
        middle, best = statistics.median(all_times), min(all_times)
        print(f"{name:26s} {1 / middle:6.0f} programs a second in the middle round, {1 / best:6.0f} in the best")
    cost = 1e3 * (min(times["sandbox, 1 worker"]) - min(times["plain fork, no isolation"]))
    print(f"isolation costs {cost:.1f} ms a program; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
