"""A run killed at any moment and resumed ends as if it had never been killed.

The same with twenty kills: SCALERL_KILLS=20 python -m pytest tests/pipeline/test_kill.py
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from small_runs import SHORT, SMALL, evals, lines, same_weights

NUM_KILLS = int(os.environ.get("SCALERL_KILLS", "5"))
STEPS = ("steps=12", "checkpoint.every=1")

CHILD = """
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from scalerl.pipeline.running import resume, start
from scalerl.recipe.reading import load
from scalerl.run.directory import is_run
place = Path(sys.argv[1])
begin = resume if is_run(place) else start
with begin(load("demo", sys.argv[2:]), place, lambda _: (), lambda: False) as started:
    started.loop.run()
"""


def launched(place):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(place), *SMALL, *SHORT, *STEPS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(place):
    child = launched(place)
    _, said = child.communicate(timeout=600)
    assert child.returncode == 0, said.decode()


def killed(place, step, seconds):
    """Kill a run so long after it has written a step; true where it was still running then."""
    child = launched(place)
    while child.poll() is None and num_steps(place) < step:
        time.sleep(0.01)
    time.sleep(seconds)
    was_running = child.poll() is None
    child.kill()
    child.communicate()
    return was_running


def num_steps(place):
    metrics = place / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def test_a_run_killed_again_and_again_ends_like_one_that_was_not(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    finished(whole)
    chance = random.Random(0)
    steps = sorted(chance.choices(range(10), k=NUM_KILLS))
    num_killed = sum(killed(parts, step, chance.uniform(0, 0.3)) for step in steps)
    assert num_killed >= min(3, NUM_KILLS)
    finished(parts)
    assert same_weights(whole, parts)
    assert evals(whole) == evals(parts)
    assert lines(whole, "forecasts.jsonl") == lines(parts, "forecasts.jsonl")
    for name in ("evals", "rollouts"):
        assert _contents(whole / name) == _contents(parts / name)
    assert not [path for path in parts.rglob(".*") if path.name.endswith(".tmp")]


def _contents(folder: Path):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
