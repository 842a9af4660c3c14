"""The commands there are. Nothing heavy is imported before one of them runs."""

from __future__ import annotations

from typing import Annotated

import typer

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

app = typer.Typer(
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
    app.command(name, epilog=module.EXAMPLE)(grouped(getattr(module, name)))
app.command("eval", epilog=evaluate.EXAMPLE)(grouped(evaluate.evaluate))
app.command("recipes", epilog=recipes_command.EXAMPLE)(grouped(recipes_command.recipes))


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
    """Tell from the first part of a reinforcement-learning run where the rest will end."""
