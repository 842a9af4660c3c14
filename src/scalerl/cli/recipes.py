"""The recipes of a comparison: each one run or several seeds, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scalerl.cli.names import distinct_names, joined, without_suffixes
from scalerl.cli.reading import Reading, Run, named_files, read_files
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.cli.headlines import Headline
    from scalerl.report.table import Table
    from scalerl.scaling.curve import Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipes:
    """Recipes to compare on one task, None where there is only one."""

    task: str | None
    names: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]
    curves: tuple[tuple[Curve, ...], ...]

    def about(self, headline: Headline) -> Headline:
        """Say which task sentences are about."""
        return headline if self.task is None else (f"{self.task}: {headline[0]}", *headline[1:])

    def titled(self, table: Table) -> Table:
        """Say which task a table is about."""
        return table if self.task is None else replace(table, title=f"{self.task}: {table.title}")


def by_task(arguments: Sequence[str], reading: Reading) -> tuple[Recipes, ...]:
    """Match the tasks of all recipes by name; runs of a single curve make a single comparison."""
    groups = _groups(arguments, reading)
    names = tuple(group.name for group in groups)
    return tuple(
        Recipes(
            task=task,
            names=names,
            files={group.name: group.files for group in groups},
            curves=tuple(group.curves(task) for group in groups),
        )
        for task in _common_tasks([runs for group in groups for runs in group.runs])
    )


def named_runs(arguments: Sequence[str], reading: Reading) -> tuple[tuple[str, tuple[Run, ...]], ...]:
    """Every recipe with its runs, a recipe of several tasks once for each."""
    return tuple(
        (group.name if task is None else f"{group.name} [{task}]", group.on(task))
        for group in _groups(arguments, reading)
        for task in _common_tasks(group.runs)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The runs of one argument, file by file."""

    name: str
    files: tuple[str, ...]
    runs: tuple[tuple[Run, ...], ...]

    def on(self, task: str | None) -> tuple[Run, ...]:
        return tuple(next(run for run in runs if task in (None, run.task)) for runs in self.runs)

    def curves(self, task: str | None) -> tuple[Curve, ...]:
        return tuple(run.curve for run in self.on(task))


def _groups(arguments: Sequence[str], reading: Reading) -> list[_Group]:
    groups = [named_files(argument) for argument in arguments]
    files = [file for group in groups for file in group]
    names = iter(without_suffixes(distinct_names(files)))
    runs = iter(read_files(files, reading))
    return [
        _Group(name=joined([next(names) for _ in group]), files=group, runs=tuple(next(runs) for _ in group))
        for group in groups
    ]


def _common_tasks(files: Sequence[Sequence[Run]]) -> list[str | None]:
    """Tasks that all files have, in the order of the first; None stands for the only curve of each file."""
    if all(len(runs) == 1 for runs in files):
        return [None]
    tasks = [[run.task for run in runs] for runs in files]
    common = [task for task in tasks[0] if all(task in others for others in tasks)]
    if not common:
        have = "; ".join(f"{runs[0].file} has {_in_words(part)}" for runs, part in zip(files, tasks, strict=True))
        raise InputError(f"no task that all runs have: {have}; expected the same tasks, or one named with --task")
    return common


def _in_words(tasks: Sequence[str | None]) -> str:
    return ", ".join(task or "a single curve" for task in tasks)
