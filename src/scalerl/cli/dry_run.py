"""What `scalerl train --dry-run` refuses, since it is known before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.recipe.tasks import Task


def check_place(run: Path | None, parent: Path | None, *, is_resumed: bool) -> None:
    """Refuse a --run that is in use and a --fork of nothing."""
    from scalerl.run.directory import Run, refuse_used
    from scalerl.run.lock import Lock

    if parent is not None:
        Run.read(parent)
    if run is not None and is_resumed:
        Lock.take(run).release()
    elif run is not None:
        refuse_used(run)


def check_files(task: Task) -> None:
    """Refuse a task whose files are not there."""
    from scalerl.recipe.paths import place_of
    from scalerl.recipe.tasks import Code, Maths, Mixture, Python
    from scalerl.tasks.dataset_files import files

    if isinstance(task, Mixture):
        for part in task.parts:
            check_files(part.task)
    elif isinstance(task, Maths | Code):
        for path in (task.path, task.held_out_path):
            if path:
                files(str(place_of(type(task), path)))
    elif isinstance(task, Python):
        file, _, _ = task.path.rpartition(":")
        if file and not Path(file).is_file():
            raise InputError("there is no such file, which task.path names", file=file)
