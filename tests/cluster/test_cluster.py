"""A whole run over Ray: real nodes, a real vLLM, real FSDP2 ranks; actors are killed while it goes on."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from watching import admissions, children_of, gone_within, trained

from scalerl.cluster.parts import parts_on_cluster
from scalerl.errors import InputError, StoppedError
from scalerl.pipeline.exporting import export
from scalerl.pipeline.running import recipe_of
from scalerl.run.directory import Run


def lines(place, name):
    return [json.loads(line) for line in (place / name).read_text().splitlines()]


def test_forty_updates_with_one_kill_of_each_kind(two_nodes, recipe, tmp_path):
    """The pass rate rises, each admission is used once, the lag keeps its bound, what is lost is replaced."""
    chosen = recipe(
        "steps=40", "batch.prompts=16", "batch.samples=8", "task.num_prompts=1000", "runtime.trainers=2",
        "evaluation.every=20", "checkpoint.every=10", "off_policy.k=4",
    )  # fmt: skip
    kills = {8: "generator", 14: "verifier", 20: "engine", 27: "trainer"}
    notes, killer, _, _, versions = trained(chosen, tmp_path / "run", kills)
    assert [kind for kind, _ in killer.killed] == list(kills.values())
    assert len(notes) == 1 and "all ranks go back to the last checkpoint" in notes[0]
    assert versions == [40]
    rates = [one["pass_rate"] for one in lines(tmp_path / "run", "evals.jsonl")]
    assert [one["step"] for one in lines(tmp_path / "run", "evals.jsonl")] == [0, 20, 40]
    assert rates[-1] > rates[0] + 0.2
    used = admissions(tmp_path / "run")
    assert len(used) == len(set(used)) == 40 * 16
    metrics = [one for one in lines(tmp_path / "run", "metrics.jsonl") if "lag/max" in one]
    assert [one["step"] for one in metrics] == list(range(1, 41)) and max(one["lag/max"] for one in metrics) <= 4
    assert metrics[-1]["cluster/generators_replaced"] >= 2
    phases = {f"cluster/update_{name}_seconds" for name in ("gather", "pause", "load", "resume", "publish")}
    assert phases <= set(metrics[-1])
    assert not gone_within([number for _, number in killer.killed], 60)


def test_two_generators_keep_the_bound_over_many_steps(two_nodes, recipe, tmp_path):
    """k = 8: no token is older, no group is used twice, and generators hold the trainer's weights at the end."""
    chosen = recipe(
        "steps=200", "runtime.generators=2", "batch.prompts=4", "batch.samples=2", "evaluation.every=200",
        "checkpoint.every=100", "off_policy.k=8", "off_policy.ahead=2", "evaluation.prompts=16",
    )  # fmt: skip
    _, killer, _, sums, versions = trained(chosen, tmp_path / "run")
    assert versions == [200, 200] and len(set(sums)) == 1
    lags = [metrics["lag/max"] for _, metrics in killer.steps if "lag/max" in metrics]
    assert max(lags) <= 8 and max(lags) >= 2
    used = admissions(tmp_path / "run")
    assert len(used) == len(set(used)) == 200 * 4


def test_a_generator_that_hangs_is_replaced_in_time(two_nodes, recipe, tmp_path):
    chosen = recipe("steps=25", "evaluation.every=25", "runtime.answer_seconds=20", "runtime.update_seconds=20")
    began = time.monotonic()
    _, killer, *_ = trained(chosen, tmp_path / "run", {3: "hang"})
    assert killer.steps[-1][1]["cluster/generators_replaced"] >= 1
    assert time.monotonic() - began < 400  # it would hang for ever
    assert not gone_within([number for _, number in killer.killed], 60)


def test_too_many_losses_end_the_run_with_a_checkpoint_and_it_goes_on(two_nodes, recipe, tmp_path):
    chosen = recipe("steps=30", "evaluation.every=30", "checkpoint.every=2", "runtime.restarts=0")
    with pytest.raises(StoppedError, match=r"restarted 0 times.*--resume"):
        trained(chosen, tmp_path / "run", {5: "trainer"})
    assert 4 <= Run.read(tmp_path / "run").latest_checkpoint().step < 30
    trained(chosen, tmp_path / "run", is_resumed=True)
    used = admissions(tmp_path / "run")
    assert len(used) == len(set(used)) == 30 * 8


def test_a_machine_that_is_lost_takes_everything_along_and_the_run_goes_on_elsewhere(
    two_nodes_and_a_driver, recipe, tmp_path
):
    """Generator, rank, verifier and the weights in the store are gone at once."""
    chosen = recipe("steps=16", "evaluation.every=16", "checkpoint.every=2")
    notes, killer, *_ = trained(chosen, tmp_path / "run", {5: "machine"})
    assert any("all ranks go back to the last checkpoint" in note for note in notes)
    assert killer.steps[-1][1]["cluster/trainers_restarted"] >= 1
    used = admissions(tmp_path / "run")
    assert len(used) == len(set(used)) == 16 * 8


def test_a_checkpoint_is_read_by_another_number_of_ranks_and_exported(two_nodes, recipe, tmp_path):
    chosen = recipe("steps=4", "evaluation.every=4", "runtime.trainers=2")
    _, _, weights, *_ = trained(chosen, tmp_path / "run")
    from safetensors.torch import load, load_file

    run = Run.read(tmp_path / "run")
    export(run, recipe_of(run), run.latest_checkpoint(), tmp_path / "model")
    written, held = load_file(tmp_path / "model" / "model.safetensors"), load(weights)
    assert all(np.array_equal(written[name], held[name]) for name in written)


def test_a_killed_driver_leaves_nothing_behind_and_its_run_goes_on(policy, tmp_path):
    """The command as a user runs it: its own cluster on the loopback, killed with -9, then resumed."""
    from conftest import SMALL

    place = tmp_path / "run"
    changes = [f"model.path={policy}", *SMALL, "steps=30", "evaluation.every=30", "checkpoint.every=3"]
    command = [sys.executable, "-m", "scalerl", "train", "demo", "--plain", "--run", str(place)]
    sets = [part for one in changes for part in ("--set", one)]
    process = subprocess.Popen([*command, *sets], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 400
    while not (place / "checkpoints" / "step-000003").is_dir() and time.monotonic() < until:
        time.sleep(0.2)
    family = descendants(process.pid)
    assert len(family) > 3 and not listening_beyond_loopback(family)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not gone_within(family, 120)  # Ray's own agents look for their parent about once a minute
    done = subprocess.run(
        [*command[:4], "--plain", "--run", str(place), "--resume"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    used = admissions(place)
    assert len(used) == len(set(used)) == 30 * 8


def test_more_than_there_is_is_refused(two_nodes, recipe):
    with pytest.raises(InputError, match="runtime asks for"):
        parts_on_cluster(recipe("runtime.generators=60", "runtime.start_seconds=3"))


def descendants(number):
    found = children_of(number)
    return found + [one for child in found for one in descendants(child)]


def listening_beyond_loopback(numbers):
    """Sockets of these processes that listen on anything but the loopback."""
    table = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    own = [line for line in table if any(f"pid={number}," in line for number in numbers)]
    assert own, "nothing listens at all: the test looks in the wrong place"
    return [line for line in own if "127.0.0.1" not in line.split()[3] and "[::1]" not in line.split()[3]]
