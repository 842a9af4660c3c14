"""What a person did that cannot work, said in one line."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """Bad input: what is wrong, where it stands, and what would be right.

    >>> str(InputError("compute is 'abc'; expected a number", file="run.csv", line=4))
    "run.csv, line 4: compute is 'abc'; expected a number"
    """

    def __init__(self, message: str, *, file: str | Path | None = None, line: int | None = None) -> None:
        self.line = line
        place = [] if file is None else [str(file)]
        place += [] if line is None else [f"line {line}"]
        super().__init__(": ".join([", ".join(place), message]) if place else message)


class TooFewPointsError(InputError):
    """A curve, or the part of it that was asked about, has fewer points than a fit needs."""


class StoppedError(RuntimeError):
    """A run that cannot go on: the reason in words, and what is still whole."""
