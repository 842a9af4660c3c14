"""Refusals of a model that was named by an argument and by no key of a recipe."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from scalerl.errors import InputError

KEY = "model.path "


@contextmanager
def said_as(argument: str) -> Generator[None]:
    """Let what is wrong with the model name the argument in place of the key.

    >>> with said_as("MODEL"):
    ...     raise InputError("model.path is 'x'; there is no such folder or file")
    Traceback (most recent call last):
    scalerl.errors.InputError: MODEL is 'x'; there is no such folder or file
    """
    try:
        yield
    except InputError as problem:
        words = str(problem)
        if not words.startswith(KEY):
            raise
        raise InputError(f"{argument} {words.removeprefix(KEY)}") from problem
