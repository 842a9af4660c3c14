"""The cluster runtime with one and two generators against the local one, same model and work; and what `plan` says.

    make bench-cluster, or python bench/cluster.py [POLICY] where vLLM and Ray are installed

The policy is a folder that vLLM can run on a CPU; without one it is made, which takes a minute or two. Idle shares
are those of the last nine tenths of the steps; the prediction takes its rates from the same run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from scalerl.pipeline.plan import predict
from scalerl.pipeline.plan_measured import measured

PROMPTS, SAMPLES, K = 16, 8, 4
WORK = (
    "task.steps=[1,3]", "task.num_prompts=1000", "length.think_tokens=[8,10]", f"batch.prompts={PROMPTS}",
    f"batch.samples={SAMPLES}", f"off_policy.k={K}", "evaluation.prompts=16", "evaluation.samples=1",
    "evaluation.every=1000", "checkpoint.every=1000", "log.rollouts_every=1", "log.rollouts_keep=0",
    "log.kl_to_start=false",
)  # fmt: skip


def made(folder):
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import make_demo_policy

    make_demo_policy.main(folder, shape=(3, 32), steps=900, batch=64, chains=(1, 3))
    return folder


def run(place, policy, steps, *changes):
    sets = [part for one in (f"model.path={policy}", f"steps={steps}", *WORK, *changes) for part in ("--set", one)]
    command = [sys.executable, "-m", "scalerl", "train", "demo", "--plain", "--run", str(place), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if "seconds/charged" in row][steps // 10 :]


def mean(rows, key):
    return float(np.mean([row[key] for row in rows]))


def predicted(place):
    """What the simulation says of this layout with the rates of this run: `scalerl plan PLACE`."""
    plan = measured(place)
    found = predict(plan.layout, plan.rates, plan.workload, steps=100)
    return found.trainers.idle + found.trainers.updating, found.generators.idle, found.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policy", type=Path, nargs="?")
    parser.add_argument("--steps", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        policy = given.policy or made(Path(folder) / "policy")
        rows = run(Path(folder) / "local", policy, given.steps)
        local = mean(rows, "tokens/generated") / mean(rows, "seconds/charged")
        print(f"local: {local:,.0f} tokens/s, generation alone {mean(rows, 'speed/generation'):,.0f}", flush=True)
        for generators in (1, 2):
            place = Path(folder) / f"cluster-{generators}"
            rows = run(place, policy, given.steps, "runtime.kind=cluster", f"runtime.generators={generators}")
            devices = generators + 1
            wall = mean(rows, "seconds/charged") / devices
            speed = mean(rows, "tokens/generated") / wall
            print(f"{generators} generators: {speed:,.0f} tokens/s, {speed / local:.2f} of the local runtime's")
            parts = ("gather", "pause", "load", "resume", "publish")
            print(
                "  update:",
                ", ".join(f"{one} {mean(rows, f'cluster/update_{one}_seconds'):.3f} s" for one in parts),
            )
            was = (
                1 - mean(rows, "seconds/training") / devices / wall,
                mean(rows, "cluster/generators_idle_share"),
                wall,
            )
            names = ("trainer idle", "generators idle", "seconds a step")
            for name, found, said in zip(names, was, predicted(place), strict=True):
                print(f"  {name}: {found:.2f} measured, {said:.2f} as planned", flush=True)


if __name__ == "__main__":
    main()
