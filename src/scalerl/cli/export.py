"""`scalerl export`: what a run has learned, as a folder that transformers loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from scalerl.cli.counts import count
from scalerl.cli.numbers import one_of
from scalerl.cli.output import note
from scalerl.cli.progress import working

if TYPE_CHECKING:
    from scalerl.pipeline.exporting import Precision

EXAMPLE = "Example: scalerl export runs/demo --out models/demo --dtype bfloat16"
DTYPES = ("float32", "bfloat16")


def export(
    run: Annotated[str, Argument(metavar="RUN", help="Run directory.", show_default=False)],
    *,
    out: Annotated[str, Option("--out", metavar="DIR", help="New folder to write.", show_default=False)],
    step: Annotated[str | None, Option("--step", metavar="N", help="Checkpoint of this step (the last).")] = None,
    dtype: Annotated[
        str | None, Option("--dtype", metavar="TYPE", help=f"{' or '.join(DTYPES)} (as it was trained).")
    ] = None,
) -> None:
    """Write a checkpoint as a Hugging Face folder: weights, configuration, tokenizer."""
    at = None if step is None else count("--step", step, at_least=0)
    precision = None if dtype is None else cast("Precision", one_of("--dtype", dtype, DTYPES))
    with working(f"writing {out}"):
        from scalerl.pipeline.exporting import checkpoint_of
        from scalerl.pipeline.exporting import export as export_to
        from scalerl.pipeline.running import recipe_of
        from scalerl.run.directory import Run

        source = Run.read(run)
        checkpoint = checkpoint_of(source, at)
        export_to(source, recipe_of(source), checkpoint, Path(out), precision)
    for warning in checkpoint.warnings:
        note(f"note: {warning}")
    note(f"wrote {out}, step {checkpoint.step} of {run}")
