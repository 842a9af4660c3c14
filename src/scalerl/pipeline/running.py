"""Starting, resuming and forking a run: what is checked, in which order, before the loop takes over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scalerl.errors import InputError
from scalerl.pipeline import checkpointing
from scalerl.pipeline.chronicle import METRICS, Chronicle, Watcher
from scalerl.pipeline.loop import Loop
from scalerl.pipeline.parts import Parts, parts_of
from scalerl.pipeline.probe import Probe
from scalerl.recipe.differences import differences
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.writing import to_toml
from scalerl.run.checkpoints import Checkpoint
from scalerl.run.directory import Run, refuse_used
from scalerl.run.names import ASIDE

PARENT = "parent.json"
MODEL = "model"
"""Folder of a run with what a model is beside its weights: configuration and tokenizer."""
Build = Callable[[Recipe], Parts]
"""Puts the objects of a run together, here or on a cluster."""
LAYOUT = ("generators", "tensor_parallel", "trainers", "verifiers", "judges", "restarts", "transfer")
SECONDS = ("start_seconds", "answer_seconds", "update_seconds")
MAY_CHANGE = ("steps", "log", "checkpoint", *(f"runtime.{name}" for name in (*LAYOUT, *SECONDS)))
"""Keys that a resume may change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """A run ready to go on."""

    loop: Loop
    parts: Parts
    run: Run
    notes: tuple[str, ...]
    """What was found on the way, in words."""
    probe: Probe
    chronicle: Chronicle

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as each:  # the last first, whatever happens to those before
            each.callback(self.run.close)
            each.callback(self.parts.close)
            each.callback(self.chronicle.close)


def start(
    recipe: Recipe,
    place: Path,
    watch: Callable[[Parts], Sequence[Watcher]],
    stop: Callable[[], bool],
    build: Build = parts_of,
) -> Started:
    """Begin a run in a new directory."""
    refuse_used(place)
    parts = build(recipe)
    with _or_closed(parts):
        run = Run.create(place, to_toml(parts.recipe))
        _keep_model(parts, run)
        return _started(parts, run, watch, stop, None, ())


def resume(
    recipe: Recipe,
    place: Path,
    watch: Callable[[Parts], Sequence[Watcher]],
    stop: Callable[[], bool],
    build: Build = parts_of,
) -> Started:
    """Go on with a run from its last checkpoint, or from its start where there is none."""
    run = Run.open(place)
    try:
        agreed = _agreed(recipe, recipe_of(run), place)
        checkpoint = run.latest_checkpoint()
        if checkpoint is None and (run.path / PARENT).is_file():
            raise InputError("was forked and has no checkpoint of its own; remove it and fork again", file=place)
        parts = build(agreed)
        with _or_closed(parts):
            if checkpoint is not None:
                checkpointing.check(checkpoint.path, parts)  # what does not fit is refused before anything is cut
            run.write_file("recipe.toml", to_toml(parts.recipe).encode())
            cut = run.cut_back(checkpoint)
            _keep_model(parts, run)
            notes = (*(checkpoint.warnings if checkpoint else ()), *cut.warnings)
            started = _started(parts, run, watch, stop, checkpoint, notes)
            charge_redone(parts, run)
            return started
    except BaseException:
        run.close()
        raise


def fork(
    recipe: Recipe,
    parent: Path,
    place: Path,
    watch: Callable[[Parts], Sequence[Watcher]],
    stop: Callable[[], bool],
    build: Build = parts_of,
) -> Started:
    """Begin a new run under a new recipe where another stands: its weights, moments and spent compute."""
    checkpoint = Run.read(parent).latest_checkpoint()
    if checkpoint is None:
        raise InputError("has no checkpoint to fork from", file=parent)
    if recipe.steps <= checkpoint.step:
        raise InputError(f"steps is {recipe.steps}; the fork begins at step {checkpoint.step}, expected more")
    refuse_used(place)
    parts = build(recipe)
    with _or_closed(parts):
        left = checkpointing.take_over(checkpoint.path, parts)
        run = Run.create(place, to_toml(parts.recipe))
        run.write_file(PARENT, json.dumps({"run": str(parent.resolve()), "step": checkpoint.step}).encode())
        _keep_model(parts, run)
        started = _started(parts, run, watch, stop, None, (f"forked from {parent}, step {checkpoint.step}", *left))
        started.loop.keep()  # from here on the new run stands alone: a kill goes back to this
        return started


@contextmanager
def _or_closed(parts: Parts) -> Generator[None]:
    """Let go of processes when a run does not come to start."""
    try:
        yield
    except BaseException:
        parts.close()
        raise


def recipe_of(run: Run) -> Recipe:
    """The resolved recipe of a run."""
    return load(run.path / "recipe.toml")


def _started(
    parts: Parts,
    run: Run,
    watch: Callable[[Parts], Sequence[Watcher]],
    stop: Callable[[], bool],
    checkpoint: Checkpoint | None,
    notes: tuple[str, ...],
) -> Started:
    chronicle = Chronicle(parts, run, watch(parts))
    loop = Loop(parts, run, chronicle, stop)
    if checkpoint is not None:
        loop.resume(checkpoint)
    return Started(loop=loop, parts=parts, run=run, notes=notes, probe=parts.probe(), chronicle=chronicle)


def _agreed(asked: Recipe, kept: Recipe, place: Path) -> Recipe:
    """The run's own recipe, with what a resume may change taken from the one that was asked for."""
    found = differences(kept, _resolved_like(asked, kept), ignore=MAY_CHANGE)
    if found:
        raise InputError(
            f"is a run under another recipe ({'; '.join(found[:3])}); "
            "resume it as it is, or begin a new run with --fork",
            file=place,
        )
    if asked.steps < kept.steps:
        raise InputError(
            f"steps is {asked.steps}; the run was made for {kept.steps}, a resume can only extend it", file=place
        )
    layout = {name: getattr(asked.runtime, name) for name in (*LAYOUT, *SECONDS)}
    runtime = replace(kept.runtime, **layout)
    return replace(kept, steps=asked.steps, log=asked.log, checkpoint=asked.checkpoint, runtime=runtime)


def _resolved_like(asked: Recipe, kept: Recipe) -> Recipe:
    """What was left to the machine is what the machine chose when the run began."""
    slots = asked.engine.slots or kept.engine.slots
    device = kept.runtime.device if asked.runtime.device == "auto" else asked.runtime.device
    threads = asked.runtime.threads or kept.runtime.threads
    runtime = replace(asked.runtime, device=device, threads=threads)
    return replace(asked, engine=replace(asked.engine, slots=slots), runtime=runtime)


def _keep_model(parts: Parts, run: Run) -> None:
    """Keep configuration and tokenizer with the run: the model's folder may be gone when it is exported."""
    making, place = run.path / f".{MODEL}.tmp", run.path / MODEL
    if place.is_dir():
        return
    shutil.rmtree(making, ignore_errors=True)
    parts.policy.module.config.save_pretrained(making)
    parts.policy.module.generation_config.save_pretrained(making)
    parts.encoder.tokenizer.save_pretrained(making)
    making.rename(place)


def charge_redone(parts: Parts, run: Run) -> None:
    """Meter apart what crashes undid, from the tails of the metrics that resumes have put aside."""
    undone = sum(_charged(log) for log in (run.path / ASIDE).glob(f"{METRICS}*"))
    parts.ledger.spend("redone", undone - parts.ledger.device_seconds["redone"])


def _charged(log: Path) -> float:
    whole = [line for line in log.read_text(errors="replace").split("\n")[:-1] if line]
    return sum(float(json.loads(line).get("seconds/charged", 0.0)) for line in whole)
