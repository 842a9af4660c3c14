"""`scalerl report`: one page that can be sent to anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from scalerl.cli.fitting import Fitting
from scalerl.cli.numbers import listed, positive, share
from scalerl.cli.options import Files, Level
from scalerl.cli.output import note, writable
from scalerl.cli.progress import working
from scalerl.cli.reading import Reading
from scalerl.cli.recipes import named_runs

EXAMPLE = "Example: scalerl report ours.csv theirs.csv --reach 0.6 -o report.html"


def report(
    files: Files,
    *,
    out: Annotated[str, Option("-o", "--output", metavar="OUT.html", help="File to write.", show_default=False)],
    at: Annotated[list[str] | None, Option("--at", metavar="C,...", help="Compute to look at.")] = None,
    reach: Annotated[list[str] | None, Option("--reach", metavar="R,...", help="Values to reach.")] = None,
    level: Level = "0.9",
    title: Annotated[str | None, Option("--title", metavar="WORDS", help="Title of the page.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print what was written as JSON.")] = False,
    fitting: Fitting,
    reading: Reading,
) -> None:
    """Write one HTML page with every figure and table; it opens without a network."""
    path = writable("--output", out, (".html", ".htm"))
    options, chance = fitting.options(), share("--level", level)
    places = [positive("--at", one) for one in listed("--at", at or [])]
    values = [
        share("--reach", one, "values between 0 and 1, such as 0.6") for one in listed("--reach", reach or [])
    ]
    recipes = named_runs(files, reading)
    with working(f"writing {path}"):
        from scalerl.report.kept import kept_of
        from scalerl.report.page import report_page, write_page

        asked: dict[str, Any] = {"at": places or None, "reach": values, "level": chance, "title": title}
        page = report_page(
            [[run.curve for run in runs] for _, runs in recipes],
            names=[name for name, _ in recipes],
            kept={run.curve.name: kept_of(run.file, run.curve.task) for _, runs in recipes for run in runs},
            **asked,
            **options,
        )
        write_page(page, path)
    _say(path, files, as_json=as_json)


def _say(path: Path, files: list[str], *, as_json: bool) -> None:
    if as_json:
        from scalerl.cli.as_json import line

        print(line({"output": str(path), "files": files}))
    else:
        note(f"wrote {path}")
