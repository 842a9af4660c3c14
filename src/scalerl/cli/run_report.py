"""The page that a finished run leaves behind: what was forecast of each task at half, against what came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.report.kept import Kept
    from scalerl.scaling.curve import Curve


def write_run_report(run: Path) -> Path | None:
    """Write RUN/report/index.html; None where the run has too few evaluations to forecast from half of them."""
    from scalerl.readers import read_all
    from scalerl.report.kept import kept_of
    from scalerl.report.page import report_page, write_page

    place = run / "report" / "index.html"
    try:
        curves = read_all(run)
        kept = {curve.name: kept_of(run, curve.task) for curve in curves}
        page = report_page(
            curves,
            until=_cut(curves, kept),
            at=[curve.last_compute for curve in curves],
            title=f"Run {run.name}",
            kept=kept,
        )
    except InputError:  # too few evaluations, or none that rises: the run itself has succeeded
        return None
    place.parent.mkdir(exist_ok=True)
    write_page(page, place)
    return place


def why_no_report(run: Path) -> str:
    """What a run lacks for a page, for people."""
    from scalerl.readers import read_all
    from scalerl.readers.run_directory import EVALS
    from scalerl.run.directory import Run
    from scalerl.scaling.curve import FEWEST_POINTS

    needed = f"{FEWEST_POINTS} are needed in the first half of the compute; evaluation.every sets how often"
    per_task = Counter(record["task"] for record in Run.read(run).records(EVALS))
    num = max(per_task.values(), default=0)
    if num < FEWEST_POINTS:
        return f"{num} {'evaluation' if num == 1 else 'evaluations'}, {needed}"
    try:
        curves = read_all(run)
    except InputError as problem:
        return str(problem)
    until = max(curve.last_compute for curve in curves) / 2
    num_seen = max(int(curve.is_between(None, until).sum()) for curve in curves)
    if num_seen >= FEWEST_POINTS:
        return "no law can be fitted to the evaluations in the first half of the compute"
    return f"{num} evaluations, {num_seen} of them early enough, {needed}"


def _cut(curves: Sequence[Curve], kept: Mapping[str, Kept]) -> float:
    """The compute at which the forecasts of half of the run were frozen, half of all where there are none."""
    from scalerl.report.kept import point_at

    frozen = [(curve, one) for curve in curves if (one := kept[curve.name].at_half()) is not None]
    points = [point_at(curve, one.made_at_step) for curve, one in frozen]
    cuts = [point[0] for point in points if point is not None]
    return max(cuts, default=max(curve.last_compute for curve in curves) / 2)
