"""The page that a finished run leaves behind: each task forecast from its first half, against what came."""

from __future__ import annotations

from pathlib import Path

from scalerl.errors import InputError


def write_run_report(run: Path) -> Path | None:
    """Write RUN/report/index.html; None where the run has too few evaluations to forecast from half of them."""
    from scalerl.readers import read_all
    from scalerl.report.page import report_page, write_page

    place = run / "report" / "index.html"
    try:
        curves = read_all(run)
        until = max(curve.last_compute for curve in curves) / 2
        page = report_page(
            curves, until=until, at=[curve.last_compute for curve in curves], title=f"Run {run.name}"
        )
    except InputError:  # too few evaluations, or none that rises: the run itself has succeeded
        return None
    place.parent.mkdir(exist_ok=True)
    write_page(page, place)
    return place
