"""`scalerl fit`: where a run ends, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.fitting import Fitting, FitOptions, fits
from scalerl.cli.numbers import share
from scalerl.cli.options import AsJson, Figure, Files, Level, TableFile
from scalerl.cli.outputs import FIGURES, TABLES, output
from scalerl.cli.progress import steps
from scalerl.cli.reading import Reading, Run, read_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scalerl.scaling.fit import Fit
    from scalerl.scaling.windows import Window

EXAMPLE = "[dim]scalerl fit run.csv --from 500 --until 8000[/dim]"

WindowsAsked = Annotated[bool, Option("--windows", help="Also fit other starts and ends (the paper's A.7).")]


def fit(
    files: Files,
    *,
    windows: WindowsAsked = False,
    level: Level = "0.9",
    fitting: Fitting,
    reading: Reading,
    figure: Figure = None,
    table: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit a law to each run: its ceiling, its efficiency, and whether the points pin them down."""
    options, chance = fitting.options(), share("--level", level)
    drawing, table_file = output("--figure", figure, FIGURES), output("--table", table, TABLES)
    runs = read_runs(files, reading)
    found = fits(runs, options, chance)
    others = _windows(runs, options, chance) if windows else [()] * len(runs)

    from scalerl.cli import as_json as records
    from scalerl.cli import show, writing

    tables = show.fit_tables(found, others)
    writing.write_figures(drawing, [lambda one=one: writing.figures().efficiency_figure(one) for one in found])
    writing.write_tables(table_file, tables)
    if as_json:
        show.lines(records.fit_record(*parts) for parts in zip(runs, found, others, strict=True))
    else:
        show.fits(found, tables)


def _windows(runs: Sequence[Run], options: FitOptions, level: float) -> list[tuple[Window, ...]]:
    from scalerl.scaling.windows import windows

    with steps(len(runs), "fitting windows of") as step:
        found: list[tuple[Window, ...]] = []
        for run in runs:
            step(run.curve.name)
            found.append(windows(run.curve, law=options["law"], method=options["method"], level=level))
    return found
