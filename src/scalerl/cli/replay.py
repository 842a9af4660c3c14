"""`scalerl replay`: recorded rollouts into the trainer alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from scalerl.cli.counts import count, span
from scalerl.cli.output import note
from scalerl.cli.progress import steps
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.replaying import Replayed
    from scalerl.report.table import Table
    from scalerl.run.directory import Run

EXAMPLE = "Example: scalerl replay runs/demo --steps 10-50 --set loss.kind=dapo"
COLUMNS = {
    "Loss": "loss/value",
    "Gradient": "gradient/norm",
    "Groups": "batch/surviving_groups",
    "Capped": "loss/capped_share",
    "Ratio, 99%": "ratio/p99",
    "KL": "kl/sampling_k3",
    "Entropy": "entropy/mean",
    "Lag": "lag/mean",
}
"""What of the metrics a person reads; --json has all of them."""


def replay(
    run: Annotated[str, Argument(metavar="RUN", help="Run directory.", show_default=False)],
    *,
    steps_: Annotated[
        str | None, Option("--steps", metavar="A-B", help="Recorded steps to learn from (all of them).")
    ] = None,
    checkpoint: Annotated[
        str | None, Option("--from-checkpoint", metavar="N", help="Begin there, not at the run's first model.")
    ] = None,
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe, as in loss.cap=8.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line instead.")] = False,
) -> None:
    """Train on recorded rollouts again, without generating any, and print each update."""
    start = None if checkpoint is None else count("--from-checkpoint", checkpoint, at_least=0)
    # Steps before a checkpoint are in its weights already.
    first, last = ((start or 0) + 1, None) if steps_ is None else span("--steps", steps_)

    from scalerl.pipeline.exporting import checkpoint_of
    from scalerl.pipeline.replaying import recorded_steps, trainer_of
    from scalerl.pipeline.replaying import replay as replay_of
    from scalerl.recipe.reading import load
    from scalerl.run.directory import Run
    from scalerl.run.names import RECIPE
    from scalerl.trainer.finite import NonFiniteError

    source = Run.read(run)
    begin = None if start is None else checkpoint_of(source, start)
    if begin is not None and steps_ is None:
        _refuse_nothing_after(source, begin.step)
    files = recorded_steps(source, first, last)
    trainer = trainer_of(source, load(Path(run) / RECIPE, set_ or []), begin)
    found: list[Replayed] = []
    try:
        with steps(len(files), "learning from") as step:
            for one in replay_of(trainer, files.items()):
                step(f"step {one.step}")
                found.append(one)
    except NonFiniteError as problem:
        raise InputError(str(problem), file=run) from problem
    finally:
        _give(found, as_json=as_json)
    if list(files) != list(range((start or 0) + 1, max(files) + 1)):
        note("note: not every step was replayed; the weights are not those that the run had")


def _refuse_nothing_after(run: Run, start: int) -> None:
    from scalerl.pipeline.replaying import ROLLOUTS
    from scalerl.run.names import CHECKPOINTS, by_step

    recorded = max(by_step(run.path / ROLLOUTS), default=None)
    if recorded is None or recorded > start:
        return
    earlier = [step for step in by_step(run.path / CHECKPOINTS) if step < recorded]
    remedy = f"name an earlier one, such as {max(earlier)}" if earlier else "leave --from-checkpoint out"
    nothing = f"no rollouts are recorded after it, the last are of step {recorded}"
    raise InputError(f"the checkpoint is at step {start} and {nothing}; {remedy}", file=run.path)


def _give(found: Sequence[Replayed], *, as_json: bool) -> None:
    if not found:
        return
    if as_json:
        from scalerl.cli.as_json import line

        for one in found:
            print(line({"step": one.step, **one.metrics}))
        return
    from scalerl.report.terminal import console, show_table

    show_table(console(), _table(found))


def _table(found: Sequence[Replayed]) -> Table:
    from scalerl.report.table import Table, number, number_column

    return Table(
        title="Updates",
        columns=(number_column("Step", "step"), *(number_column(title, key) for title, key in COLUMNS.items())),
        rows=tuple(
            (number(one.step, "{:.0f}".format), *(number(one.metrics.get(key), _text) for key in COLUMNS.values()))
            for one in found
        ),
    )


def _text(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"
