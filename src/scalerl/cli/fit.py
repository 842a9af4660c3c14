"""`scalerl fit`: where a run ends, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.answer import Answer
from scalerl.cli.fitting import FitOptions, Fitting, fits
from scalerl.cli.numbers import share
from scalerl.cli.options import Files, Level
from scalerl.cli.output import Output
from scalerl.cli.progress import steps
from scalerl.cli.reading import Reading, Run, expanded, read_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.scaling.fit import Fit
    from scalerl.scaling.windows import Window

EXAMPLE = "Example: scalerl fit run.csv --from 500 --until 8000"


def fit(
    files: Files,
    *,
    windows: Annotated[bool, Option("--windows", help="Also fit other starts and ends (paper, A.7).")] = False,
    level: Level = "0.9",
    fitting: Fitting,
    reading: Reading,
    output: Output,
) -> None:
    """Fit a law to each run: its ceiling, how fast it gets there, and whether the points tell."""
    files = expanded(files)
    output.check(files)
    options, chance = fitting.options(), share("--level", level)
    runs = read_runs(files, reading)
    found = fits(runs, options, chance)
    output.give(_answer(runs, found, _windows(runs, options, chance) if windows else [()] * len(runs)))


def _windows(runs: Sequence[Run], options: FitOptions, level: float) -> list[tuple[Window, ...]]:
    from scalerl.scaling.windows import windows

    found: list[tuple[Window, ...]] = []
    with steps(len(runs), "fitting windows of") as step:
        for run in runs:
            step(run.curve.name)
            curve = run.curve.between(options["since"], options["until"])
            found.append(windows(curve, law=options["law"], method=options["method"], level=level))
    return found


def _answer(runs: Sequence[Run], found: Sequence[Fit], others: Sequence[Sequence[Window]]) -> Answer:
    from scalerl.cli import headlines
    from scalerl.cli.as_json import fit_record
    from scalerl.report.tables import fit_table, windows_table

    tables = [
        replace(windows_table(part), title=f"{one.curve.name}: other windows")
        for one, part in zip(found, others, strict=True)
        if part
    ]
    return Answer(
        records=tuple(fit_record(*parts) for parts in zip(runs, found, others, strict=True)),
        headlines=tuple(headlines.of_fit(one) for one in found),
        tables=(fit_table(found), *tables),
        warnings={one.curve.name: one.warnings for one in found},
        figures=tuple(partial(_figure, one) for one in found),
    )


def _figure(found: Fit) -> Figure:
    from scalerl.report.efficiency_figure import efficiency_figure

    return efficiency_figure(found)
