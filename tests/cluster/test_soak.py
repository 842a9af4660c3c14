"""What takes an hour: curves of both runtimes side by side, and ten kills of each kind at random moments."""

import json
import os
import random
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import SMALL, make_demo_policy
from watching import admissions, gone_within, trained

from scalerl.pipeline.running import start
from scalerl.recipe.reading import load

pytestmark = pytest.mark.soak


class Nobody:
    def step(self, step, metrics):
        pass

    def evaluated(self, points, forecasts, metrics):
        pass

    def alarm(self, text):
        pass

    def close(self):
        pass


def curve(place):
    return np.array([json.loads(line)["pass_rate"] for line in (place / "evals.jsonl").read_text().splitlines()])


@pytest.fixture(scope="session")
def twin(tmp_path_factory):
    """The demo's policy made anew with heads 32 wide: vLLM cannot compute its own, of 24, on a CPU."""
    if (given := os.environ.get("SCALERL_DEMO_TWIN")) is not None:
        return given  # five minutes saved
    place = tmp_path_factory.mktemp("twin")
    make_demo_policy().main(place, shape=(3, 32))
    return place


def test_curves_of_the_demo_equal_those_of_the_local_runtime(two_nodes, twin, tmp_path):
    """Three seeds each: the mean difference of the curves is within three standard errors of sampling and seeds."""
    changes = (f"model.path={twin}", "evaluation.every=10", "evaluation.prompts=256")
    on_cluster = ("runtime.kind=cluster", "runtime.trainers=2", "runtime.start_seconds=180")
    found = {"local": [], "cluster": []}
    for seed in range(3):
        place = tmp_path / f"cluster-{seed}"
        trained(load("demo", [*changes, *on_cluster, f"seed={seed}"]), place)
        found["cluster"].append(curve(place))
        place = tmp_path / f"local-{seed}"
        with start(load("demo", [*changes, f"seed={seed}"]), place, lambda _: [Nobody()], lambda: False) as it:
            it.loop.run()
        found["local"].append(curve(place))
    local, cluster = (np.array(found[kind]) for kind in ("local", "cluster"))
    print("local", local.round(3), "cluster", cluster.round(3))
    spread = np.sqrt((local.var(0, ddof=1) + cluster.var(0, ddof=1)).mean() / 3 + 2 * 0.25 / (3 * 1024))
    assert np.abs(local.mean(0) - cluster.mean(0)).max() < 4 * spread
    assert abs((local - cluster).mean()) < 3 * spread / np.sqrt(3)


@pytest.mark.parametrize("kind", ["generator", "engine", "verifier", "trainer", "hanging trainer"])
def test_ten_kills(kind, two_nodes, recipe, tmp_path):
    """The run ends, each admission was used once, and the lag kept its bound."""
    steps = 60
    moments = sorted(random.Random(kind).sample(range(2, steps - 2), 10))
    chosen = recipe(
        f"steps={steps}", "evaluation.every=60", "checkpoint.every=5", "off_policy.k=4", "runtime.trainers=2",
        "runtime.restarts=40", "runtime.update_seconds=20",
    )  # fmt: skip
    _, killer, *_ = trained(chosen, tmp_path / "run", dict.fromkeys(moments, kind))
    assert len(killer.killed) == 10 and not gone_within([number for _, number in killer.killed], 10)
    used = admissions(tmp_path / "run")
    assert len(used) == len(set(used)) == steps * 8
    assert max(metrics.get("lag/max", 0) for _, metrics in killer.steps) <= 4


def test_ten_kills_of_the_driver(policy, tmp_path):
    """The command is killed with -9 at ten random moments and resumed each time; then it comes to its end."""
    place, chance = tmp_path / "run", random.Random("driver")
    changes = [f"model.path={policy}", *SMALL, "steps=150", "evaluation.every=150", "checkpoint.every=3"]
    sets = [part for one in changes for part in ("--set", one)]
    command = [sys.executable, "-m", "scalerl", "train", "--plain", "--run", str(place)]
    for _ in range(10):
        how = ["--resume"] if (place / "recipe.toml").is_file() else ["demo", *sets]
        process = subprocess.Popen([*command, *how], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before, until = num_rows(place), time.monotonic() + 180
        while num_rows(place) <= before and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(chance.uniform(0, 2))
        process.kill()
        process.wait()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    used = admissions(place)
    assert len(used) == len(set(used)) == 150 * 8


def num_rows(place):
    """Rows of metrics: a resume cuts some of them off before it adds others."""
    file = place / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.is_file() else 0
