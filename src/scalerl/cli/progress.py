"""Progress of long work, on the terminal of standard error and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def steps(total: int, verb: str) -> Generator[Callable[[str], None], None, None]:
    """Show how many of the steps are begun and which is at work; gone without a trace at the end."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(verb, total=total)
        begun = 0

        def step(what: str) -> None:
            nonlocal begun
            progress.update(task, description=f"{verb} {what}", completed=begun)
            begun += 1

        yield step


@contextmanager
def working(words: str) -> Generator[None, None, None]:
    """Show that something goes on whose steps cannot be counted."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield
