"""A run with nothing to learn that goes on from wherever it was killed: `python tiny_run.py RUN STEPS`."""

import hashlib
import json
import sys

from scalerl.run import Run, is_run


def after(value, step):
    """What a step makes of the state: as hard to guess as weights."""
    return hashlib.sha256(f"{value} {step}".encode()).hexdigest()


def train(path, num_steps, told=lambda step: None):
    """Log, evaluate, record and checkpoint up to a step; all of it follows from the step alone."""
    with Run.open(path) if is_run(path) else Run.create(path, "seed = 1\n") as run:
        checkpoint = run.latest_checkpoint()
        run.cut_back(checkpoint)
        step, value = 0, ""
        if checkpoint is not None:
            step, value = json.loads((checkpoint.path / "state.json").read_text())
            save(run, step, value)  # as a signal right after a resume would
        while step < num_steps:
            step += 1
            value = after(value, step)
            advance(run, step, value)
            told(step)


def advance(run, step, value):
    run.append("metrics.jsonl", {"step": step, "value": value})
    if step % 3 == 0:
        run.append("evals.jsonl", {"step": step, "value": value})
        run.write_file(f"evals/step-{step:06d}.jsonl", value.encode())
    if step % 4 == 0:
        run.write_file(f"rollouts/step-{step:06d}.jsonl", value.encode())
        run.keep_newest("rollouts", 3)
    if step % 2 == 0:
        save(run, step, value)


def save(run, step, value):
    def fill(folder):
        (folder / "state.json").write_text(json.dumps([step, value]))
        (folder / "model").mkdir()
        (folder / "model/weights").write_text(value * 20)

    run.checkpoint(step, fill, keep=2)


if __name__ == "__main__":
    print("begun", flush=True)
    train(sys.argv[1], int(sys.argv[2]), told=lambda step: print(step, flush=True))
