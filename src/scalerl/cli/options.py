"""Options that several commands share, each as the type of a parameter.

Everything comes in as the words that were typed: the commands read them, so that every mistake is told in the same
way whatever version of typer there is.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from typer import Argument, Option

OUTPUT = "Output"

Files: TypeAlias = Annotated[
    list[str], Argument(metavar="FILE...", help="CSV, JSONL, run directory or trainer's log.", show_default=False)
]
Level: TypeAlias = Annotated[
    str, Option("--level", metavar="P", help="Probability that an interval holds what it is about.")
]
AsJson: TypeAlias = Annotated[
    bool, Option("--json", help="Print one JSON object a line, and nothing else.", rich_help_panel=OUTPUT)
]
Figure: TypeAlias = Annotated[
    str | None, Option("--figure", metavar="OUT", help="Also draw it: .png or .svg.", rich_help_panel=OUTPUT)
]
TableFile: TypeAlias = Annotated[
    str | None,
    Option("--table", metavar="OUT", help="Also write the table: .md, .tex or .csv.", rich_help_panel=OUTPUT),
]
Earlier: TypeAlias = Annotated[
    list[str] | None,
    Option("--earlier", metavar="RUN,...", help="Earlier runs of yours, to set the width of the bands by."),
]
