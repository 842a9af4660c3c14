"""`scalerl forecast`: what more compute buys, and what a value takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.answer import Answer
from scalerl.cli.earlier import recalibrated
from scalerl.cli.fitting import Fitting, fits
from scalerl.cli.numbers import listed, positive, share
from scalerl.cli.options import Earlier, Files, Level
from scalerl.cli.output import Output
from scalerl.cli.reading import Reading, Run, expanded, read_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.scaling.forecast import Forecast

EXAMPLE = "Example: scalerl forecast run.csv --at 2e4,4e4 --reach 0.6 --level 0.8"
MULTIPLES = (1.5, 2.0, 4.0)
"""Where a forecast looks, in units of the last compute, if nothing is asked."""

_VALUE = "values between 0 and 1, such as 0.6"


def forecast(
    files: Files,
    *,
    at: Annotated[
        list[str] | None, Option("--at", metavar="C,...", help="Compute to look at (1.5, 2, 4 times the last).")
    ] = None,
    reach: Annotated[list[str] | None, Option("--reach", metavar="R,...", help="Values to reach.")] = None,
    level: Level = "0.9",
    earlier: Earlier = None,
    fitting: Fitting,
    reading: Reading,
    output: Output,
) -> None:
    """Forecast each run: the value at more compute, and the compute for a value."""
    files = expanded(files)
    output.check(files)
    options, chance = fitting.options(), share("--level", level)
    computes = [positive("--at", one) for one in listed("--at", at or [])]
    values = [share("--reach", one, _VALUE) for one in listed("--reach", reach or [])]
    runs = read_runs(files, reading)
    bands = recalibrated(earlier, reading, options)

    from scalerl.scaling.forecast import forecast as forecast_of

    found: list[Forecast] = []
    for one in fits(runs, options, chance):
        places = computes or ([] if values else [multiple * one.fitted.last_compute for multiple in MULTIPLES])
        found.append(forecast_of(one.recalibrated(bands.width_factor), at=places, reach=values, level=chance))
    output.give(_answer(runs, found, bands.notes))


def _answer(runs: Sequence[Run], found: Sequence[Forecast], notes: tuple[str, ...]) -> Answer:
    from scalerl.cli import headlines
    from scalerl.cli.as_json import forecast_record
    from scalerl.report.tables import forecast_table, target_table

    tables = (forecast_table(found), target_table(found))
    return Answer(
        records=tuple(forecast_record(run, one, notes) for run, one in zip(runs, found, strict=True)),
        headlines=tuple(headlines.of_forecast(one) for one in found),
        tables=tuple(table for table in tables if table.rows),
        warnings={one.fit.curve.name: (*one.warnings, *notes) for one in found},
        figures=tuple(partial(_figure, one) for one in found),
    )


def _figure(found: Forecast) -> Figure:
    from scalerl.report.forecast_figure import forecast_figure

    return forecast_figure(found)
