"""Options that several commands share, each as the type of a parameter.

Everything comes in as the words that were typed: the commands read them, so that every mistake is told in the same
way whatever version of typer there is.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from typer import Argument, Option

Files: TypeAlias = Annotated[
    list[str], Argument(metavar="FILE", help="Table, run directory or log.", show_default=False)
]
Level: TypeAlias = Annotated[str, Option("--level", metavar="P", help="Level of intervals.")]
Earlier: TypeAlias = Annotated[
    list[str] | None,
    Option("--earlier", metavar="RUN,...", help="Earlier runs, to set bands by."),
]
