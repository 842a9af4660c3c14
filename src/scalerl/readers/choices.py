"""What the user named: columns, units, ranges and sizes that a file cannot know or gets wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scalerl.errors import InputError
from scalerl.scaling.curve import UNITS, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options of `scalerl.readers.read`, checked.

    `unit` says what the compute column holds and never picks another column. `merge` keeps the last of several rows
    of a bare table with the same compute, where they would be refused.
    """

    unit: Unit | None = None
    compute_column: str | None = None
    value_column: str | None = None
    value_range: tuple[float, float] | None = None
    task: str | None = None
    gpus: float | None = None
    model_size: float | None = None
    merge: bool = False

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in UNITS:
            raise InputError(f"--unit is {self.unit!r}; expected one of {', '.join(UNITS)}")
        _check_positive("--gpus", self.gpus)
        _check_positive("--model-size", self.model_size)
        if self.value_range is not None:
            low, high = self.value_range
            if not (low < high and math.isfinite(high - low)):
                raise InputError(f"--range is {low:g},{high:g}; expected two numbers, the lower first")

    def unit_of(self, column: str, known: Unit | None) -> tuple[Unit | None, tuple[str, ...]]:
        """Say what a column holds, with a warning where the user overrides what is known of it."""
        if self.unit is None or self.unit == known:
            return known, ()
        if known is None:
            return self.unit, ()
        return self.unit, (f"{column!r} is known to hold {known}; read as {self.unit} because of --unit",)


def _check_positive(option: str, number: float | None) -> None:
    if number is not None and not (number > 0 and math.isfinite(number)):
        raise InputError(f"{option} is {number:g}; expected a positive number")
