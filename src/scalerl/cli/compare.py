"""`scalerl compare`: which recipe is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from scalerl.cli.answer import Answer
from scalerl.cli.fitting import Fitting
from scalerl.cli.loss_note import loss_notes
from scalerl.cli.numbers import positive, share
from scalerl.cli.options import Level
from scalerl.cli.output import Output
from scalerl.cli.progress import working
from scalerl.cli.reading import Reading, expanded
from scalerl.cli.recipes import Recipes, by_task
from scalerl.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scalerl.scaling.comparison import Comparison

EXAMPLE = "Example: scalerl compare ours_1.csv,ours_2.csv theirs.csv --at 1e4 (two seeds against one run)"


def compare(
    recipes: Annotated[
        list[str],
        Argument(metavar="FILE", help="Recipes; seeds joined by commas.", show_default=False),
    ],
    *,
    at: Annotated[str | None, Option("--at", metavar="C", help="Compute to compare at (the last).")] = None,
    margin: Annotated[str, Option("--margin", metavar="D", help="Ceilings this close are equal.")] = "0.02",
    level: Level = "0.9",
    fitting: Fitting,
    reading: Reading,
    output: Output,
) -> None:
    """Compare recipes: which is better, how sure that is, and what it saves."""
    output.check(expanded(recipes))
    options, chance, close = fitting.options(), share("--level", level), share("--margin", margin)
    place = None if at is None else positive("--at", at)
    if len(recipes) < 2:
        raise InputError(f"only {recipes[0]} is given; expected at least two recipes to compare")
    groups = by_task(recipes, reading)

    from scalerl.scaling.comparison import compare as compare_all

    with working("comparing"):
        found = [
            compare_all(one.curves, at=place, names=one.names, margin=close, level=chance, **options)
            for one in groups
        ]
    output.give(_answer(groups, found, loss_notes(expanded(recipes))))


def _answer(groups: Sequence[Recipes], found: Sequence[Comparison], notes: tuple[str, ...]) -> Answer:
    from scalerl.cli import headlines
    from scalerl.cli.as_json import comparison_record
    from scalerl.report.comparison_tables import comparison_table, ranking_table

    pairs = list(zip(groups, found, strict=True))
    return Answer(
        records=tuple(comparison_record(one, group.files, group.task) for group, one in pairs),
        headlines=tuple(group.about(words) for group, one in pairs for words in headlines.of_comparison(one)),
        tables=tuple(
            group.titled(table)
            for group, one in pairs
            for table in (ranking_table(one), *(comparison_table(one, unit) for unit in one.units))
        ),
        warnings={group.task or "": (*one.warnings, *notes) for group, one in pairs},
        figures=tuple(partial(_figure, one) for one in found),
    )


def _figure(found: Comparison) -> Figure:
    from scalerl.report.comparison_figure import comparison_figure

    return comparison_figure(found)
