"""The page that a finished run leaves behind: what was forecast of each task at half, against what came."""

from __future__ import annotations

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


def _cut(curves: Sequence[Curve], kept: Mapping[str, Kept]) -> float:
    """The compute at which the forecasts of half of the run were frozen, half of all where there are none."""
    from scalerl.report.kept import point_at

    frozen = [(curve, one) for curve in curves if (one := kept[curve.name].at_half()) is not None]
    points = [point_at(curve, one.made_at_step) for curve, one in frozen]
    cuts = [point[0] for point in points if point is not None]
    return max(cuts, default=max(curve.last_compute for curve in curves) / 2)
