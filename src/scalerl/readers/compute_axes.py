"""Cumulative training compute at each evaluation, in every unit that a log allows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.readers.points import is_rising, listed
from scalerl.readers.trainers.trainer import Row, Trainer
from scalerl.readers.units import UNIT_COLUMNS
from scalerl.scaling.curve import Unit, Vector

Rows = Mapping[float, Row]

PREFERENCE: tuple[Unit, ...] = ("gpu_hours", "flops", "tokens", "steps")
# Training costs 6 FLOPs a parameter and token, generation 2.
FLOPS_PER_PARAMETER = 6 + 2
_NEEDS: dict[Unit, str] = {
    "gpu_hours": "it needs the seconds of each step in the log, and --gpus where the log does not show them",
    "flops": "it needs tokens in the log and --model-size",
    "tokens": "the log shows no token counts that rise",
    "steps": "the log shows no steps",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Compute of each point, what to call it, and its unit where known."""

    label: str
    compute: Vector
    unit: Unit | None


def compute_axes(
    rows: Rows, trainer: Trainer, steps: Vector, choices: Choices, warnings: list[str]
) -> dict[Unit, Vector]:
    """Work out every axis at these numbers of steps done."""
    axes: dict[Unit, Vector] = {"steps": steps}
    gpus = _num_gpus(rows, trainer, choices, warnings)
    if gpus is not None and (seconds := _training_seconds(rows, trainer, warnings)):
        axes["gpu_hours"] = cumulative(seconds, steps) * gpus / 3600
        if not trainer.seconds_are_means:
            warnings.extend(_gaps("step seconds", seconds, steps))
    logged = ((trainer.steps_done(step), trainer.tokens(row)) for step, row in rows.items())
    if tokens := {step: amount for step, amount in logged if amount > 0}:
        axes["tokens"] = between(tokens, steps) if trainer.tokens_are_total else cumulative(tokens, steps)
        if not trainer.tokens_are_total:
            warnings.extend(_gaps("tokens", tokens, steps))
        if choices.model_size is not None:
            axes["flops"] = FLOPS_PER_PARAMETER * choices.model_size * axes["tokens"]
    warnings.extend(f"{unit} do not rise and are left out" for unit in axes if not is_rising(axes[unit]))
    return {unit: axis for unit, axis in axes.items() if is_rising(axis)}


def chosen_axis(
    axes: Mapping[Unit, Vector], rows: Rows, trainer: Trainer, steps: Vector, choices: Choices, file: Path
) -> Axis:
    """Take the axis or key the user names, else the most telling one that is known."""
    column = choices.compute_column
    if column is None:
        known: Unit | None = next((unit for unit in PREFERENCE if unit in axes), None)
        if known is None:
            raise InputError("its steps do not rise", file=file)
        return Axis(label=known, compute=axes[known], unit=known)
    unit = UNIT_COLUMNS.get(column)
    if unit is not None and unit in axes:
        return Axis(label=column, compute=axes[unit], unit=unit)
    named = ((trainer.steps_done(step, column), row.get(column, math.nan)) for step, row in rows.items())
    if logged := {step: total for step, total in named if math.isfinite(total)}:
        return Axis(label=column, compute=_last_logged(logged, steps, column, file), unit=unit)
    if unit is not None:
        raise InputError(f"--compute-column is {column!r}: {_NEEDS[unit]}", file=file)
    keys = sorted({key for row in rows.values() for key in row})
    raise InputError(f"--compute-column is {column!r}; there are {listed([*axes, *keys])}", file=file)


def cumulative(amounts: Mapping[float, float], at: Vector) -> Vector:
    """Sum the amounts of single steps; steps that were not logged take the amount that follows them.

    >>> cumulative({1: 10.0, 2: 20.0, 4: 5.0}, np.array([0.0, 2.0, 4.0, 5.0])).tolist()
    [0.0, 30.0, 40.0, 45.0]
    """
    steps = np.array([0.0, *sorted(step for step in amounts if step > 0)])
    per_step = np.array([amounts[step] for step in steps[1:]])
    if not per_step.size:
        return np.full_like(at, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        totals = np.concatenate([[0.0], np.cumsum(per_step * np.diff(steps))])
        return np.interp(at, steps, totals) + np.maximum(at - steps[-1], 0) * per_step[-1]


def between(totals: Mapping[float, float], at: Vector) -> Vector:
    """Read a total that is logged now and then: straight lines between, the last one carried on.

    >>> between({2: 100.0, 4: 300.0}, np.array([0.0, 1.0, 4.0, 5.0])).tolist()
    [0.0, 50.0, 300.0, 400.0]
    """
    steps = sorted(step for step in totals if step > 0)
    rises = np.diff([0.0, *(totals[step] for step in steps)]) / np.diff([0.0, *steps])
    return cumulative(dict(zip(steps, rises.tolist(), strict=True)), at)


def _last_logged(logged: Mapping[float, float], at: Vector, column: str, file: Path) -> Vector:
    steps = np.array(sorted(logged))
    index = np.searchsorted(steps, at, side="right") - 1
    if (index < 0).any():
        raise InputError(f"{column!r} is not logged by the first evaluation", file=file)
    return np.array([logged[step] for step in steps[index]])


def _training_seconds(rows: Rows, trainer: Trainer, warnings: list[str]) -> dict[float, float]:
    seconds: dict[float, float] = {}
    is_mixed = False
    for step, row in rows.items():
        whole, evaluation = trainer.seconds(row), trainer.evaluation_seconds(row)
        if not whole > 0:
            continue
        is_mixed |= math.isnan(evaluation)
        # An evaluation longer than the step was timed outside of it.
        is_inside = 0 < evaluation < whole
        seconds[trainer.steps_done(step)] = whole - evaluation if is_inside else whole
    if is_mixed:
        warnings.append("evaluation time could not be told from training time at some steps and is counted")
    return seconds


def _num_gpus(rows: Rows, trainer: Trainer, choices: Choices, warnings: list[str]) -> float | None:
    logged = [gpus for row in rows.values() if 0.5 <= (gpus := trainer.gpus(row)) < math.inf]
    known = round(statistics.median(logged)) if logged else None
    if choices.gpus is None:
        return known
    if known is not None and known != choices.gpus:
        warnings.append(f"the log shows {known} GPUs; counted {choices.gpus:g} because of --gpus")
    return choices.gpus


def _gaps(what: str, amounts: Mapping[float, float], steps: Vector) -> list[str]:
    last = int(steps[-1])
    num_logged = sum(0 < step <= last for step in amounts)
    if num_logged >= last:
        return []
    return [f"{what} are logged for {num_logged} of {last} steps; the others are taken to be like the next"]
