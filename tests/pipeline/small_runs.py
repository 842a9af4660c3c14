"""Runs of the shipped policy so small that each takes a second or two."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file

from scalerl.pipeline.running import resume, start
from scalerl.recipe.reading import load

torch.set_num_threads(1)

SMALL = (
    "steps=4", "model.path=demo", "task.kind=chain", "prompt.chat_template=false",
    "batch.prompts=4", "batch.samples=4", "engine.slots=12", "optimizer.rate=3e-4", "optimizer.warmup_steps=2",
    "objective.truncated=drop", "evaluation.every=2", "evaluation.prompts=8", "evaluation.samples=2",
    "checkpoint.every=2", "log.rollouts_every=1", "runtime.device=cpu",
)  # fmt: skip
SHORT = (
    "length.kind=interruption",
    "length.think_tokens=[6,10]",
    'length.phrase="{close}"',
    "length.answer_tokens=2",
)


def recipe(*overrides, name="demo", length=SHORT):
    return load(name, [*SMALL, *length, *overrides])


def trained(place, *overrides, name="demo", length=SHORT, watchers=()):
    """Run a recipe to its end and return what was started."""
    started = start(recipe(*overrides, name=name, length=length), Path(place), lambda _: watchers, lambda: False)
    with started:
        started.loop.run()
    return started


def resumed(place, *overrides, stop=lambda: False, **options):
    started = resume(recipe(*overrides, **options), Path(place), lambda _: (), stop)
    with started:
        started.loop.run()
    return started


def weights(place):
    """Masters, moments and counts of the last checkpoint."""
    newest = max(Path(place, "checkpoints").glob("step-*"))
    return load_file(newest / "trainer.safetensors")


def same_weights(one, other):
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def lines(place, log="evals.jsonl"):
    return [json.loads(line) for line in Path(place, log).read_text().splitlines()]


def evals(place):
    """The curve without its measured time."""
    return [{key: value for key, value in line.items() if key != "gpu_hours"} for line in lines(place)]
