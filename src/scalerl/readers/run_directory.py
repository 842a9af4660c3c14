"""A run directory of this project: `evals.jsonl`, one line an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.cells import finite, number
from scalerl.readers.choices import Choices
from scalerl.readers.json_records import Record, forgiving_records
from scalerl.readers.points import all_axes, enough, is_rising, listed, range_warnings, scaled
from scalerl.readers.prompt_counts import prompt_counts
from scalerl.readers.units import UNIT_COLUMNS
from scalerl.scaling.curve import FEWEST_POINTS, UNITS, Curve, Unit, Vector

EVALS = "evals.jsonl"
UNNAMED = "no task"
Tasks = dict[str, dict[float, tuple[int, Record]]]
_KEYS: dict[Unit, str] = {"gpu_hours": "gpu_hours", "flops": "flops", "tokens": "tokens", "steps": "step"}


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run of this project."""
    return (folder / EVALS).is_file() or (folder / "recipe.toml").is_file()


def curves(folder: Path, choices: Choices) -> tuple[Curve, ...]:
    """Read one curve for each task, or for the one task that is named."""
    warnings: list[str] = []
    tasks = _chosen(_by_task(folder, warnings), choices, folder)
    short = [task for task, points in tasks.items() if len(points) < FEWEST_POINTS]
    if len(short) < len(tasks):
        warnings += [f"task {task!r} has only {len(tasks[task])} evaluations and is left out" for task in short]
        tasks = {task: points for task, points in tasks.items() if task not in short}
    return tuple(_curve(folder, task, tasks, choices, warnings) for task in tasks)


def curve(folder: Path, choices: Choices) -> Curve:
    """Read the one curve of a run."""
    warnings: list[str] = []
    tasks = _chosen(_by_task(folder, warnings), choices, folder)
    if len(tasks) > 1:
        raise InputError(f"has several tasks: name one with --task; there are {listed(list(tasks))}", file=folder)
    return _curve(folder, next(iter(tasks)), tasks, choices, warnings)


def _curve(folder: Path, task: str, tasks: Tasks, choices: Choices, warnings: list[str]) -> Curve:
    run = folder.resolve().name
    name = run if len(tasks) == 1 else f"{run} [{task}]"
    points = dict(sorted(tasks[task].items()))
    return Evaluations(folder=folder, name=name, task=task, points=points).curve(choices, warnings)


def _chosen(tasks: Tasks, choices: Choices, folder: Path) -> Tasks:
    if choices.task is None:
        return tasks
    if choices.task in tasks:
        return {choices.task: tasks[choices.task]}
    raise InputError(f"--task is {choices.task!r}; there are {listed(list(tasks))}", file=folder)


def _by_task(folder: Path, warnings: list[str]) -> Tasks:
    """Group evaluations by task and step; a step evaluated again after a resume replaces the one before."""
    path = folder / EVALS
    tasks: Tasks = {}
    for line, record in forgiving_records(path, warnings) if path.is_file() else ():
        step = finite(record.get("step"), "step", file=path, line=line)
        if step < 0:
            raise InputError(f"'step' is {step:g}; expected 0 or more", file=path, line=line)
        tasks.setdefault(str(record.get("task") or UNNAMED), {})[step] = line, record
    if not tasks:
        raise InputError("has no evaluations yet: evals.jsonl is missing or empty", file=folder)
    return tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluations:
    """The evaluations of one task, by step."""

    folder: Path
    name: str
    task: str
    points: Mapping[float, tuple[int, Record]]

    def curve(self, choices: Choices, said: list[str]) -> Curve:
        """Put the evaluations on an axis."""
        enough(len(self.points), file=self._file)
        self._check_temperatures()
        warnings = [*said, *range_warnings(choices)]
        axes = self._axes(warnings)
        label, compute, known = self._compute(axes, choices)
        unit, words = choices.unit_of(label, known)
        if unit is None:
            raise InputError(f"the unit of {label!r} is not known: give --unit", file=self._file)
        truncation = self._column("truncation")
        steps = np.array(list(self.points))
        return Curve(
            name=self.name,
            unit=unit,
            compute=compute,
            value=self._values(choices),
            num_samples=self._num_samples(),
            step=steps,
            metric="pass_rate" if choices.value_range is None else "reward",
            task=None if self.task == UNNAMED else self.task,
            axes=all_axes(axes, compute, known, unit),
            counts=prompt_counts(self.folder, steps.tolist(), self.task, warnings),
            truncation=truncation if np.isfinite(truncation).all() else None,
            warnings=(*warnings, *words),
        )

    def _axes(self, warnings: list[str]) -> dict[Unit, Vector]:
        """Every axis that can carry a curve; what is wrong with the others is said."""
        columns: dict[Unit, Vector] = {unit: self._checked_column(_KEYS[unit]) for unit in UNITS}
        for unit, axis in columns.items():
            if (axis < 0).any():
                line = list(self.points.values())[int(np.argmax(axis < 0))][0]
                raise InputError(f"{_KEYS[unit]!r} is negative; expected 0 or more", file=self._file, line=line)
            if np.isfinite(axis).any() and np.nanmax(axis) > 0 and not is_rising(axis):
                warnings.append(f"{unit} do not rise from step to step, or are missing somewhere, and are left out")
        return {unit: axis for unit, axis in columns.items() if is_rising(axis)}

    @property
    def _file(self) -> Path:
        return self.folder / EVALS

    def _checked_column(self, key: str) -> Vector:
        """A column of finite numbers, NaN where there is none; anything else is an error."""
        found: list[float] = []
        for line, record in self.points.values():
            cell = record.get(key)
            found.append(math.nan if cell is None else finite(cell, key, file=self._file, line=line))
        return np.array(found)

    def _column(self, key: str) -> Vector:
        found = [number(record.get(key)) for _, record in self.points.values()]
        return np.array([math.nan if cell is None else cell for cell in found])

    def _values(self, choices: Choices) -> Vector:
        key, values = choices.value_column or "pass_rate", list[float]()
        for line, record in self.points.values():
            value = finite(record.get(key), key, file=self._file, line=line)
            values.append(scaled(value, choices, label=repr(key), file=self._file, line=line))
        return np.array(values)

    def _num_samples(self) -> Vector:
        counts = self._checked_column("num_prompts") * self._checked_column("num_samples")
        return np.where((counts > 0) & np.isfinite(counts), counts, np.nan)

    def _check_temperatures(self) -> None:
        lines: dict[float, int] = {}
        for line, record in self.points.values():
            temperature = number(record.get("temperature"))
            if temperature is not None:
                lines.setdefault(temperature, line)
        if len(lines) > 1:
            found = " and ".join(f"{temperature:g} (line {line})" for temperature, line in lines.items())
            raise InputError(f"mixes sampling temperatures {found}: no one curve", file=self._file)

    def _compute(self, axes: Mapping[Unit, Vector], choices: Choices) -> tuple[str, Vector, Unit | None]:
        column = choices.compute_column
        if column is None:
            unit = self._default_unit(axes)
            if choices.unit is not None and choices.unit not in axes and self._has(choices.unit):
                problem = f"{_KEYS[choices.unit]!r} does not rise from step to step or is missing somewhere"
                raise InputError(
                    f"--unit is {choices.unit!r}, but {problem}; mend it, or leave --unit out", file=self._file
                )
            return unit, axes[unit], unit
        unit = UNIT_COLUMNS.get(column)
        compute = self._column(column if unit is None else _KEYS[unit])
        if is_rising(compute):
            return column, compute, unit
        keys = sorted({key for _, record in self.points.values() for key in record})
        what = "does not rise" if np.isfinite(compute).any() else "is not there"
        raise InputError(f"--compute-column is {column!r}, which {what}; there are {listed(keys)}", file=self._file)

    def _has(self, unit: Unit) -> bool:
        """Whether any evaluation names its compute in a unit."""
        return any(record.get(_KEYS[unit]) is not None for _, record in self.points.values())

    def _default_unit(self, axes: Mapping[Unit, Vector]) -> Unit:
        """Prefer GPU-hours; time on a CPU says little, so there FLOPs come first."""
        is_cpu = any(record.get("device") == "cpu" for _, record in self.points.values())
        order: tuple[Unit, ...] = ("flops", "tokens", "steps") if is_cpu else UNITS
        for unit in order:
            if unit in axes:
                return unit
        return "steps"
