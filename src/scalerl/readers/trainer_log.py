"""A trainer's log: for each step, keys and numbers; duplicate steps after a resume are merged, last wins."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.cells import number
from scalerl.readers.choices import Choices
from scalerl.readers.compute_axes import chosen_axis, compute_axes
from scalerl.readers.held_out import held_out
from scalerl.readers.points import all_axes, enough, is_rising, range_warnings, scaled
from scalerl.readers.trainers import trainer_of
from scalerl.readers.trainers.trainer import Trainer
from scalerl.scaling.curve import Curve, Vector

STEP_KEYS = (
    "train/global_step",
    "eval/global_step",
    "training/global_step",
    "trainer/global_step",
    "global_step",
    "step",
    "_step",
)


def step_of(record: Mapping[str, object]) -> float | None:
    """Find the step that a record belongs to, under any of the trainers' names for it."""
    return next((step for key in STEP_KEYS if (step := number(record.get(key))) is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """All steps of one run, ordered."""

    name: str
    file: Path
    rows: Mapping[float, Mapping[str, float]]
    warnings: tuple[str, ...] = ()

    def curve(self, choices: Choices) -> Curve:
        """Turn the log into held-out values against cumulative training compute."""
        keys = {key for row in self.rows.values() for key in row}
        trainer = trainer_of(keys)
        chosen = held_out(trainer, keys, choices, file=self.file)
        warnings = [*self.warnings, *chosen.warnings, *range_warnings(choices)]
        points = self._points(trainer, chosen.key, warnings)
        enough(len(points), file=self.file)
        steps = np.array(list(points))
        axes = compute_axes(self.rows, trainer, steps, choices, warnings)
        axis = chosen_axis(axes, self.rows, trainer, steps, choices, self.file)
        unit, words = choices.unit_of(axis.label, axis.unit)
        if unit is None:
            raise InputError(f"the unit of {axis.label!r} is not known: give --unit", file=self.file)
        if not is_rising(axis.compute):
            raise InputError(
                f"{axis.label!r} does not rise from point to point; choose another --compute-column",
                file=self.file,
            )
        return Curve(
            name=self.name,
            unit=unit,
            compute=axis.compute,
            value=self._values(points, chosen.key, choices),
            num_samples=self._num_samples(points, trainer, chosen.key),
            step=steps,
            metric="reward" if choices.value_range else chosen.metric,
            axes=all_axes(axes, axis.compute, axis.unit, unit),
            warnings=(*warnings, *words),
        )

    def _points(self, trainer: Trainer, key: str, warnings: list[str]) -> dict[float, float]:
        """Give steps done -> the row's own step, where the value is there and finite."""
        there = [step for step, row in self.rows.items() if key in row]
        finite = [step for step in there if math.isfinite(self.rows[step][key])]
        if len(finite) < len(there):
            warnings.append(f"{len(there) - len(finite)} values of {key!r} are not finite and left out")
        return {trainer.steps_done(step, key): step for step in finite}

    def _values(self, points: Mapping[float, float], key: str, choices: Choices) -> Vector:
        labels = {step: f"{key!r} at step {step:g}" for step in points.values()}
        return np.array(
            [scaled(self.rows[step][key], choices, label=labels[step], file=self.file) for step in points.values()]
        )

    def _num_samples(self, points: Mapping[float, float], trainer: Trainer, key: str) -> Vector:
        counts = np.array([trainer.num_samples(self.rows[step], key) for step in points.values()])
        return np.where(counts > 0, counts, np.nan)


def merged(records: Iterable[tuple[float | None, Mapping[str, object]]]) -> dict[float, dict[str, float]]:
    """Collect numbers by step; what is logged later for the same step and key replaces what was before."""
    rows: dict[float, dict[str, float]] = {}
    for step, record in records:
        if step is None or not 0 <= step < math.inf:
            continue
        row = rows.setdefault(step, {})
        for key, cell in record.items():
            if (found := number(cell)) is not None:
                row[sys.intern(key)] = found
    return dict(sorted(rows.items()))
