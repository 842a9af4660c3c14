"""`scalerl backtest`: how far off the same method would have been earlier."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.answer import Answer
from scalerl.cli.fitting import Fitting
from scalerl.cli.numbers import listed, share
from scalerl.cli.options import Files
from scalerl.cli.output import Output
from scalerl.cli.progress import steps
from scalerl.cli.reading import Reading, Run, expanded, read_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.scaling.backtest import Backtest

EXAMPLE = "Example: scalerl backtest runs/*.csv --cuts 0.25,0.5"


def backtest(
    files: Files,
    *,
    cuts: Annotated[
        list[str] | None, Option("--cuts", metavar="S,...", help="Shares to predict from (.25,.5,.75).")
    ] = None,
    fitting: Fitting,
    reading: Reading,
    output: Output,
) -> None:
    """Hide the end of each run, predict it, and score that against simpler ways."""
    files = expanded(files)
    output.check(files)
    options = fitting.options()
    places = [
        share("--cuts", one, "shares between 0 and 1, such as .25,.5,.75") for one in listed("--cuts", cuts or [])
    ]
    runs = read_runs(files, reading)

    from scalerl.errors import InputError
    from scalerl.scaling.backtest import CUTS, FEWEST_POINTS
    from scalerl.scaling.backtest import backtest as backtest_of

    places = places or list(CUTS)
    with steps(len(runs) * len(places), "predicting") as step:
        found = backtest_of([run.curve for run in runs], cuts=places, on_step=step, **options)
    if not found.outcomes:
        raise InputError(
            f"no run has {FEWEST_POINTS} points before any of the cuts, and one after", file=runs[0].file
        )
    output.give(_answer(runs, found))


def _answer(runs: Sequence[Run], found: Backtest) -> Answer:
    from scalerl.cli import headlines
    from scalerl.cli.as_json import backtest_records
    from scalerl.report.tables import backtest_table

    return Answer(
        records=backtest_records(runs, found),
        headlines=headlines.of_backtest(found),
        tables=(backtest_table(found),),
        warnings={run.curve.name: run.curve.warnings for run in runs},
        figures=(partial(_figure, found),),
    )


def _figure(found: Backtest) -> Figure:
    from scalerl.report.calibration_figure import calibration_figure

    return calibration_figure(found)
