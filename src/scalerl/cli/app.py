"""The commands there are. Nothing heavy is imported before one of them runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from scalerl import __version__
from scalerl.cli import (
    backtest,
    budget,
    compare,
    doctor,
    evaluate,
    export,
    fit,
    forecast,
    plan,
    recipes_command,
    replay,
    report,
    show,
    train,
    warmstart,
)
from scalerl.cli.grouped import grouped

_EXAMPLES = """[dim]scalerl forecast run.csv --at 2e4,4e4 --reach 0.6[/dim]

[dim]scalerl compare ours.csv theirs.csv --at 1e4[/dim]

[dim]scalerl report runs/a runs/b -o report.html[/dim]"""


def _without_values(parameters: list[Any]) -> list[Any]:
    """Flags take no value: help names none."""
    for one in parameters:
        if getattr(one, "is_flag", False) and one.metavar is None:
            one.metavar = ""
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - its class is private to the typer of the day
        return _without_values(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - its class is private to the typer of the day
        return _without_values(super().get_params(ctx))


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    train,
    plan,
    show,
    export,
    replay,
    warmstart,
    fit,
    forecast,
    compare,
    budget,
    backtest,
    report,
    doctor,
):
    name = module.__name__.rpartition(".")[2]
    app.command(name, cls=_Command, epilog=module.EXAMPLE)(grouped(getattr(module, name)))
app.command("eval", cls=_Command, epilog=evaluate.EXAMPLE)(grouped(evaluate.evaluate))
app.command("recipes", cls=_Command, epilog=recipes_command.EXAMPLE)(grouped(recipes_command.recipes))


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"scalerl {__version__}")
        raise typer.Exit


@app.callback()
def scalerl(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Train language models by reinforcement, and tell from the first part of a run where the rest will end."""
