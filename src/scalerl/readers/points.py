"""What every curve must satisfy, whatever it was read from: enough points, values in range, a rising axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.scaling.curve import FEWEST_POINTS, Unit, Vector

TRAINING_REWARD = (
    "these are training rewards, not held-out: prompts repeat, sampling and filtering move the mean,"
    " and a ceiling fitted to them is not a ceiling of ability"
)


def enough(num_points: int, *, file: Path) -> None:
    """Refuse a curve that no law can be fitted to."""
    if num_points < FEWEST_POINTS:
        found = "no points" if not num_points else f"only {num_points} point{'s' * (num_points > 1)}"
        raise InputError(f"has {found}; a curve needs at least {FEWEST_POINTS}", file=file)


def scaled(value: float, choices: Choices, *, label: str, file: Path, line: int | None = None) -> float:
    """Bring a value to 0..1 by the range the user named; a value outside it is an error."""
    low, high = choices.value_range or (0.0, 1.0)
    if low <= value <= high:
        return (value - low) / (high - low)
    hint = "the range given" if choices.value_range else "or give --range LOW,HIGH to rescale rewards"
    raise InputError(f"{label} is {value:g}; expected {low:g} to {high:g}, {hint}", file=file, line=line)


def range_warnings(choices: Choices) -> tuple[str, ...]:
    """Say that values were rescaled."""
    if choices.value_range is None:
        return ()
    low, high = choices.value_range
    return (f"values are rewards rescaled from {low:g}..{high:g} to 0..1, not pass rates",)


def is_rising(axis: Vector) -> bool:
    """Tell whether an axis can carry a curve: finite, never negative, strictly rising."""
    return bool(np.isfinite(axis).all() and (axis >= 0).all() and (np.diff(axis) > 0).all())


def all_axes(axes: Mapping[Unit, Vector], compute: Vector, known: Unit | None, unit: Unit) -> dict[Unit, Vector]:
    """Keep every known axis beside the curve's own, which stands under the unit it is read as."""
    return {**{name: axis for name, axis in axes.items() if name != known}, unit: compute}


def lines_left_out(lines: Sequence[int], singular: str, plural: str) -> tuple[str, ...]:
    """Say which lines were left out and why, in one sentence."""
    if not lines:
        return ()
    if len(lines) == 1:
        return (f"line {lines[0]} {singular} and is left out",)
    return (f"{len(lines)} lines, first line {lines[0]}, {plural} and are left out",)


def listed(names: Sequence[str], most: int = 12) -> str:
    """List names for a person, the first of them where there are many."""
    shown = ", ".join(name if len(name) <= 80 else f"{name[:80]}..." for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
