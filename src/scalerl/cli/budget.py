"""`scalerl budget`: what a target costs, and whether to go on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.answer import Answer
from scalerl.cli.earlier import recalibrated
from scalerl.cli.fitting import Fitting, fits
from scalerl.cli.numbers import positive, share
from scalerl.cli.options import Earlier, Files, Level
from scalerl.cli.output import Output
from scalerl.cli.reading import Reading, Run, expanded, read_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.scaling.budget import Budget

EXAMPLE = "Example: scalerl budget run.csv --reach 0.6 --spend 2000 --gain 0.01 --cost-per-unit 2.5"


def budget(
    files: Files,
    *,
    reach: Annotated[str, Option("--reach", metavar="R", help="Value to reach.", show_default=False)],
    gain: Annotated[str, Option("--gain", metavar="G", help="Gain worth a step.")] = "0.005",
    spend: Annotated[str | None, Option("--spend", metavar="C", help="Compute of a step (a tenth more).")] = None,
    cost_per_unit: Annotated[
        str | None, Option("--cost-per-unit", metavar="X", help="Price of one unit of compute.")
    ] = None,
    level: Level = "0.9",
    earlier: Earlier = None,
    fitting: Fitting,
    reading: Reading,
    output: Output,
) -> None:
    """Say what reaching a value costs, where more compute stops paying, and whether to go on."""
    files = expanded(files)
    output.check(files)
    options, chance = fitting.options(), share("--level", level)
    target = share("--reach", reach, "a value between 0 and 1, such as 0.6")
    worthwhile = positive("--gain", gain, "a positive gain such as 0.005")
    more = None if spend is None else positive("--spend", spend)
    price = None if cost_per_unit is None else positive("--cost-per-unit", cost_per_unit)
    runs = read_runs(files, reading)
    bands = recalibrated(earlier, reading, options)

    from scalerl.scaling.budget import budget as budget_of

    found = [
        budget_of(
            one.recalibrated(bands.width_factor),
            reach=target,
            gain=worthwhile,
            spend=more,
            cost_per_unit=price,
            level=chance,
        )
        for one in fits(runs, options, chance)
    ]
    output.give(_answer(runs, found, bands.notes))


def _answer(runs: Sequence[Run], found: Sequence[Budget], notes: tuple[str, ...]) -> Answer:
    from scalerl.cli import headlines
    from scalerl.cli.as_json import budget_record
    from scalerl.report.tables import budget_table

    return Answer(
        records=tuple(budget_record(run, one, notes) for run, one in zip(runs, found, strict=True)),
        headlines=tuple(headlines.of_budget(one) for one in found),
        tables=(budget_table(found),),
        warnings={one.fit.curve.name: (*one.warnings, *notes) for one in found},
        figures=tuple(partial(_figure, one) for one in found),
    )


def _figure(found: Budget) -> Figure:
    from scalerl.report.forecast_figure import forecast_figure
    from scalerl.scaling.forecast import forecast

    return forecast_figure(forecast(found.fit, reach=[found.target.target], level=found.level))
