"""`scalerl show`: read what a run wrote, right and wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from scalerl.cli.counts import count
from scalerl.cli.output import note, writable
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.report.rollout_choice import Choice
    from scalerl.report.rollout_reading import Recorded
    from scalerl.report.rollout_text import Tags
    from scalerl.report.table import Table

EXAMPLE = "Example: scalerl show runs/demo --wrong --interrupted --difficulty 8"
MOST_SHOWN, MOST_ON_A_PAGE = 5, 500
MOST_LABELS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which rollouts to show."""

    right: Annotated[bool, Option("--right", help="Only right ones.")] = False
    wrong: Annotated[bool, Option("--wrong", help="Only wrong ones.")] = False
    interrupted: Annotated[bool, Option("--interrupted", help="Only those whose thinking was cut.")] = False
    truncated: Annotated[bool, Option("--truncated", help="Only those whose budget ran out.")] = False
    difficulty: Annotated[
        str | None, Option("--difficulty", metavar="LABEL", help="Only prompts of this difficulty.")
    ] = None
    task: Annotated[str | None, Option("--task", metavar="NAME", help="Only prompts of this task.")] = None
    prompt: Annotated[
        str | None, Option("--prompt", metavar="ID", help="Only this prompt, at every step that is recorded.")
    ] = None

    def choice(self) -> Choice:
        """The same for the layer below."""
        from scalerl.report.rollout_choice import Choice

        return Choice(
            is_right=self.right,
            is_wrong=self.wrong,
            is_interrupted=self.interrupted,
            is_truncated=self.truncated,
            difficulty=self.difficulty,
            task=self.task,
            prompt=self.prompt,
        )

    def labels(self) -> dict[str, str]:
        """The labels that are asked for by their value."""
        asked = {"task": self.task, "difficulty": self.difficulty}
        return {name: value for name, value in asked.items() if value is not None}


def show(
    run: Annotated[str, Argument(metavar="RUN", help="Run directory, or a file of rollouts.", show_default=False)],
    *,
    step: Annotated[
        str | None, Option("--step", metavar="N", help="Rollouts of this step (the last that is recorded).")
    ] = None,
    limit: Annotated[
        str | None, Option("--limit", metavar="N", help=f"Most to show ({MOST_SHOWN}; {MOST_ON_A_PAGE} on a page).")
    ] = None,
    out: Annotated[
        str | None, Option("-o", "--output", metavar="OUT.html", help="Write a page with filters instead.")
    ] = None,
    chosen: Chosen,
) -> None:
    """Show rollouts: prompt, thinking, answer, verdict, and which policies wrote them."""
    page = None if out is None else writable("--output", out, (".html", ".htm"))
    most = count("--limit", limit or str(MOST_SHOWN if page is None else MOST_ON_A_PAGE))
    at = None if step is None else count("--step", step, at_least=0)
    found, table = _read(Path(run), at, chosen)
    tags = _tags(Path(run))
    if page is None:
        _print(found, most, table, tags)
    else:
        _write(page, run, found, most, table, tags)


def _read(place: Path, step: int | None, chosen: Chosen) -> tuple[list[Recorded], Table]:
    """What is asked for, and a table of the same prompts' rollouts, right or wrong."""
    from scalerl.report.rollout_reading import read_recorded
    from scalerl.report.rollout_table import summary_table

    _refuse_never_recorded(place)
    recorded = read_recorded(place, step=step, every_step=chosen.prompt is not None)
    choice = chosen.choice()
    found = [one for one in recorded if choice.admits(one)]
    if not found:
        there = "".join(_there(recorded, name, asked) for name, asked in chosen.labels().items())
        raise InputError(f"none of {len(recorded)} rollouts is as you ask{there}", file=place)
    return found, summary_table([one for one in recorded if choice.of_prompts().admits(one)])


def _there(recorded: Sequence[Recorded], name: str, asked: str) -> str:
    """The values that a label has."""
    found = {str(getattr(one.group.prompt, name)) for one in recorded}
    ordered = sorted(found, key=lambda one: (len(one), one) if one.isdecimal() else (0, one))
    shown = [one or "''" for one in ordered]
    more = ["..."] if len(shown) > MOST_LABELS else []
    return f"; --{name} is {asked!r}, there are {', '.join([*shown[:MOST_LABELS], *more])}"


def _refuse_never_recorded(place: Path) -> None:
    """A run that is over will record nothing more."""
    from scalerl.readers.run_directory import EVALS
    from scalerl.report.rollout_reading import ROLLOUTS, recipe_of
    from scalerl.run.directory import Run
    from scalerl.run.names import by_step

    recipe = recipe_of(place)
    if recipe is None or not recipe.log.rollouts_every or by_step(place / ROLLOUTS):
        return
    if any(record["step"] >= recipe.steps for record in Run.read(place).records(EVALS)):
        raise InputError(
            f"has no recorded rollouts: it ended at step {recipe.steps} and log.rollouts_every is "
            f"{recipe.log.rollouts_every}; a run with --set log.rollouts_every=1 records all of its own",
            file=place,
        )


def _tags(place: Path) -> Tags:
    from scalerl.report.rollout_reading import recipe_of
    from scalerl.report.rollout_text import Tags

    recipe = recipe_of(place)
    return Tags() if recipe is None else Tags.of(recipe)


def _print(found: Sequence[Recorded], most: int, table: Table, tags: Tags) -> None:
    from scalerl.report.rollout_terminal import show_rollout
    from scalerl.report.terminal import console, show_table

    screen = console()
    show_table(screen, table)
    for one in found[:most]:
        show_rollout(screen, one, tags)
    if len(found) > most:
        note(f"{most} of {len(found)} are shown; --limit shows more, -o OUT.html writes a page")


def _write(page: Path, run: str, found: Sequence[Recorded], most: int, table: Table, tags: Tags) -> None:
    from scalerl.report.atomic import write_atomically
    from scalerl.report.rollout_page import rollout_page

    left_out = f"The first {most} of {len(found)} rollouts; --limit takes more." if len(found) > most else ""
    text = rollout_page(Path(run).name or run, found[:most], table, tags, left_out)
    write_atomically(text.encode(errors="backslashreplace"), page)
    note(f"wrote {page}")
