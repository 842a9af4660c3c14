"""What the user says about a fit, and the fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, cast

from typer import Option

from scalerl.cli.numbers import not_negative, one_of
from scalerl.cli.progress import steps
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.cli.reading import Run
    from scalerl.scaling.fit import Fit

LAWS = ("sigmoid", "power", "exponential", "logistic")
METHODS = ("posterior", "paper", "least-squares")
_PANEL = "Fitting"


class FitOptions(TypedDict):
    """What every function that fits takes."""

    law: str
    method: Literal["posterior", "paper", "least-squares"]
    since: float | None
    until: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """How to fit."""

    law: Annotated[
        str,
        Option(
            "--law",
            metavar="LAW",
            help=f"{LAWS[0]} (default), {', '.join(LAWS[1:])}.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = "sigmoid"
    method: Annotated[
        str,
        Option(
            "--method",
            metavar="NAME",
            help=f"{METHODS[0]} (default), {', '.join(METHODS[1:])}.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = "posterior"
    since: Annotated[
        str | None,
        Option(
            "--from", metavar="C", help="Leave out points before it, but for one at zero.", rich_help_panel=_PANEL
        ),
    ] = None
    until: Annotated[
        str | None, Option("--until", metavar="C", help="Leave out points beyond it.", rich_help_panel=_PANEL)
    ] = None

    def options(self) -> FitOptions:
        """Read and check what was typed."""
        since = None if self.since is None else not_negative("--from", self.since)
        until = None if self.until is None else not_negative("--until", self.until)
        if since is not None and until is not None and since > until:
            raise InputError(f"--from is {self.since} and --until is {self.until}; expected --from to be the lower")
        one_of("--law", self.law, LAWS)
        method = cast(Literal["posterior", "paper", "least-squares"], one_of("--method", self.method, METHODS))
        return {"law": self.law, "method": method, "since": since, "until": until}


def fits(runs: Sequence[Run], options: FitOptions, level: float) -> tuple[Fit, ...]:
    """Fit every run."""
    from scalerl.scaling.fit import fit

    with steps(len(runs), "fitting") as step:
        found: list[Fit] = []
        for run in runs:
            step(run.curve.name)
            found.append(fit(run.curve, level=level, **options))
    return tuple(found)
