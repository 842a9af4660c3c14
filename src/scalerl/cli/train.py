"""`scalerl train`: a run from a recipe, from its last checkpoint, or from another run's."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from scalerl.cli.dry_run import check_files, check_place
from scalerl.cli.run_report import why_no_report, write_run_report
from scalerl.cli.unread import unread_is_fine
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.chronicle import Watcher
    from scalerl.pipeline.parts import Parts
    from scalerl.pipeline.running import Build, Started
    from scalerl.recipe.recipe import Recipe

EXAMPLE = "Example: scalerl train demo --set loss.kind=dapo --run runs/dapo"


def train(
    recipe: Annotated[
        str | None, Argument(help="A TOML file or the name of a recipe; a resume needs none.")
    ] = None,
    *,
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Change one key, as in loss.cap=8.")
    ] = None,
    run: Annotated[Path | None, Option("--run", help="The run directory (runs/NAME).")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on from the run's last checkpoint.")] = False,
    fork: Annotated[
        Path | None, Option("--fork", metavar="RUN", help="Begin from another run's last checkpoint.")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the resolved recipe and its memory; train nothing.")
    ] = False,
    address: Annotated[
        str | None, Option(help="A Ray cluster to join (runtime.kind = cluster); none starts one here.")
    ] = None,
    plain: Annotated[bool, Option("--plain", help="Plain lines instead of the live display.")] = False,
) -> None:
    """Train a model by a recipe, and say where the run will end."""
    if resume and fork:
        raise InputError("--resume goes on with a run, --fork begins a new one; expected one of them")
    chosen = _chosen(_source(recipe, run, is_resumed=resume), set_ or [])
    if dry_run:
        check_place(run, fork, is_resumed=resume)
        check_files(chosen.task)
        _print_plan(chosen)
        return
    place = run or Path("runs") / Path(str(recipe)).stem
    stopping = _Stopping()
    with unread_is_fine(), _runtime(chosen, address) as runtime:
        started = _begun(chosen, place, resume, fork, stopping, plain, runtime.build)
        _finish(started, stopping, runtime, is_resumed=resume)


def _source(recipe: str | None, run: Path | None, *, is_resumed: bool) -> str:
    """Where the recipe stands: a resume takes the run's own where none is named."""
    from scalerl.run.directory import is_run
    from scalerl.run.names import RECIPE

    if is_resumed and run is not None and not is_run(run):
        raise InputError(f"is no run: it has no {RECIPE}; begin it with a recipe and without --resume", file=run)
    if recipe is not None:
        return recipe
    if not is_resumed:
        raise InputError("no recipe is named; expected a TOML file or a name that `scalerl recipes` lists")
    if run is None:
        raise InputError("--resume needs --run DIR to know which run")
    return str(run / RECIPE)


def _chosen(source: str, overrides: Sequence[str]) -> Recipe:
    from scalerl.recipe.reading import load

    return load(source, overrides)


def _begun(
    recipe: Recipe,
    place: Path,
    is_resumed: bool,
    parent: Path | None,
    stopping: _Stopping,
    plain: bool,
    build: Build,
) -> Started:
    from scalerl.pipeline.running import fork, resume, start
    from scalerl.report.progress import watchers_of

    def watch(parts: Parts) -> Sequence[Watcher]:
        return watchers_of(parts.recipe, place, is_plain=plain)

    if is_resumed:
        return resume(recipe, place, watch, stopping.is_asked, build)
    return (
        start(recipe, place, watch, stopping.is_asked, build)
        if parent is None
        else fork(recipe, parent, place, watch, stopping.is_asked, build)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Runtime:
    """Where a run runs: how its objects are made, and how its loop is."""

    build: Build
    run: Callable[[Started], None]


@contextmanager
def _runtime(recipe: Recipe, address: str | None) -> Generator[_Runtime]:
    """The recipe's runtime, for as long as the run lasts."""
    if recipe.runtime.kind == "local":
        if address is not None:
            raise InputError('--address names a cluster; expected runtime.kind = "cluster" in the recipe')
        from scalerl.pipeline.parts import parts_of

        yield _Runtime(build=parts_of, run=lambda started: started.loop.run())
        return
    _require_cluster()
    from scalerl.cluster.session import joined

    with joined(address, recipe.runtime):
        from scalerl.cluster.parts import parts_on_cluster
        from scalerl.cluster.recovery import run

        build = partial(parts_on_cluster, tell=_note)
        yield _Runtime(build=build, run=lambda started: run(started, _note))


def _require_cluster() -> None:
    missing = [name for name in ("ray", "vllm") if find_spec(name) is None]
    if missing:
        raise InputError(
            f'runtime.kind is "cluster"; {" and ".join(missing)} cannot be imported: pip install "scalerl[cluster]"'
            " and vLLM for this machine, see docs/cluster.md"
        )


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _finish(started: Started, stopping: _Stopping, runtime: _Runtime, *, is_resumed: bool) -> None:
    from scalerl.pipeline.summary import closing, opening

    with started, stopping:
        for note in started.notes:
            _note(note)
        typer.echo(opening(started.parts, started.probe))
        if is_resumed:
            typer.echo(_taken_up(started))
        runtime.run(started)
    if words := closing(started.run, started.parts.recipe):
        typer.echo(words)
    typer.echo(_report(started.run.path) if started.loop.is_done else _stopped(started))


def _taken_up(started: Started) -> str:
    run, step, steps = started.run.path, started.loop.step, started.parts.recipe.steps
    if started.loop.is_done:
        return f"{run} is done: {step:,} of {steps:,} steps; --set steps=N takes it further"
    return f"{run} goes on at step {step:,} of {steps:,}"


def _stopped(started: Started) -> str:
    again = shlex.join(["scalerl", "train", "--run", str(started.run.path), "--resume"])
    at = f"step {started.loop.step:,} of {started.parts.recipe.steps:,}"
    return f"stopped at {at}; a checkpoint is written: go on with {again}"


def _report(run: Path) -> str:
    page = write_run_report(run)
    return f"no report: {why_no_report(run)}" if page is None else f"report: {page}"


class _Stopping:
    """A first interrupt or termination asks the loop to end with a checkpoint; a second interrupt does not wait."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[int, object] = {}

    def is_asked(self) -> bool:
        return self._asked

    def __enter__(self) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            self._before[one] = signal.signal(one, self._ask)

    def __exit__(self, *_: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)  # pyright: ignore[reportArgumentType]

    def _ask(self, number: int, _: object) -> None:
        if self._asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked = True
        typer.echo("stopping with a checkpoint; once more to leave at once", err=True)


def _print_plan(recipe: Recipe) -> None:
    from scalerl.recipe.writing import to_toml

    typer.echo(to_toml(recipe))
    typer.echo(_memory(recipe))


def _memory(recipe: Recipe) -> str:
    if not recipe.model.path or recipe.model.path.endswith(".gguf"):
        why = "a .gguf file tells it when it is loaded" if recipe.model.path else "set model.path"
        return f"# Memory: unknown without a Hugging Face folder; {why}."
    from scalerl.pipeline.memory import memory_of

    found, gib = memory_of(recipe), 2**30
    return "\n".join(
        [
            f"# Memory for {found.num_parameters:,} parameters: about {found.total / gib:.2f} GiB,"
            f" and {found.free / gib:.1f} GiB are free.",
            f"# {found.training / gib:8.2f} GiB weights, gradients, optimizer",
            f"# {found.cache / gib:8.2f} GiB keys and values of {found.num_slots} slots, fewer if need be",
            f"# {found.logits / gib:8.2f} GiB one chunk of logits",
            f"# {found.activations / gib:8.2f} GiB activations of a micro-batch, roughly",
        ]
    )
