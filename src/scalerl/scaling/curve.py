"""One run's held-out pass rate against compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scalerl.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Unit: TypeAlias = Literal["gpu_hours", "flops", "tokens", "steps"]
Metric: TypeAlias = Literal["pass_rate", "reward"]

UNITS: tuple[Unit, ...] = get_args(Unit)
METRIC_NAMES: Mapping[Metric, str] = MappingProxyType(
    {"pass_rate": "Held-out pass rate", "reward": "Mean reward, from 0 to 1"}
)
# Beyond these, powers and products of compute would leave what a float can hold.
SMALLEST, LARGEST, WIDEST = 1e-100, 1e100, 1e30
FEWEST_POINTS = 3
"""Points below which nothing is fitted."""

UNIT_NAMES: Mapping[Unit, str] = MappingProxyType(
    {"gpu_hours": "GPU-hours", "flops": "FLOPs", "tokens": "tokens", "steps": "steps"}
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptCounts:
    """How often each held-out prompt was passed at each point: rows are points, columns are prompts."""

    prompts: tuple[str, ...]
    num_passed: Vector
    num_samples: Vector

    def noise_variance(self) -> Vector:
        """Variance of each point's mean pass rate on this fixed set of prompts: sum p(1-p)/k over N^2.

        A prompt's own pass rate p is taken from its answers at this point and the two on either side: a few answers
        that happen to agree must not pass for certainty.
        """
        passed, asked = (_sum_of_neighbours(part) for part in (self.num_passed, self.num_samples))
        rate = (passed + 0.5) / (asked + 1)
        is_asked = self.num_samples > 0
        within = np.where(is_asked, rate * (1 - rate) / np.maximum(self.num_samples, 1), 0.0)
        return within.sum(axis=1) / is_asked.sum(axis=1) ** 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """One run's points, ordered by compute, with their unit.

    `num_samples` is how many judged answers stand behind each point (NaN where unknown), `axes` the compute of
    the same points in every unit that is known, `task` which of a run's tasks it is about where there are several,
    `warnings` what the reader had to decide, in words.

    >>> curve = Curve.of([0, 100, 200, 400], [0.2, 0.3, 0.4, 0.45], unit="gpu_hours", num_samples=16_000)
    >>> len(curve), curve.last_compute, curve.between(until=200).value.tolist()
    (4, 400.0, [0.2, 0.3, 0.4])
    """

    name: str
    unit: Unit
    compute: Vector
    value: Vector
    num_samples: Vector
    step: Vector | None = None
    metric: Metric = "pass_rate"
    task: str | None = None
    axes: Mapping[Unit, Vector] = field(default_factory=dict)
    counts: PromptCounts | None = None
    truncation: Vector | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        compute: ArrayLike,
        value: ArrayLike,
        *,
        unit: Unit,
        name: str = "curve",
        num_samples: ArrayLike | None = None,
    ) -> Curve:
        """Make a curve of plain numbers; one `num_samples` serves all points."""
        x, y = np.array(compute, dtype=float), np.array(value, dtype=float)
        n = np.full_like(x, np.nan) if num_samples is None else np.broadcast_to(num_samples, x.shape)
        return cls(name=name, unit=unit, compute=x, value=y, num_samples=np.array(n, dtype=float))

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InputError(f"unit is {self.unit!r}; expected one of {', '.join(UNITS)}", file=self.name)
        for name in ("compute", "value", "num_samples", "step", "truncation"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._own(getattr(self, name), name))
        object.__setattr__(self, "axes", {unit: self._own(axis, unit) for unit, axis in self.axes.items()})
        self._check_counts()
        is_number = (self.compute == 0) | ((self.compute >= SMALLEST) & (self.compute <= LARGEST))
        self._check(~is_number, "compute", f"0, or a number from {SMALLEST:g} to {LARGEST:g}")
        self._check(~((self.value >= 0) & (self.value <= 1)), "value", "a number from 0 to 1")
        self._check(self.num_samples <= 0, "num_samples", "a positive count")
        self._check_order()

    def _own(self, row: Vector, name: str) -> Vector:
        """A copy of a row of numbers that nobody else can change."""
        copy = np.array(row, dtype=float)
        if copy.ndim != 1 or len(copy) != len(self.value):
            raise InputError(f"{name} and value must be rows of equal length", file=self.name)
        if not len(copy):
            raise InputError("no points; expected at least one", file=self.name)
        copy.flags.writeable = False
        return copy

    def _check(self, is_bad: NDArray[np.bool_], field_name: str, expected: str) -> None:
        if is_bad.any():
            at = int(np.argmax(is_bad))
            found = getattr(self, field_name)[at]
            message = f"{field_name} of point {at + 1} is {found:g}; expected {expected}"
            raise InputError(message, file=self.name)

    def _check_order(self) -> None:
        if (np.diff(self.compute) <= 0).any():
            raise InputError("compute must rise from point to point", file=self.name)
        positive = self.compute[self.compute > 0]
        if len(positive) and positive[0] * WIDEST < positive[-1]:
            ends = f"from {positive[0]:g} to {positive[-1]:g}"
            raise InputError(f"compute runs {ends}; expected at most a factor of {WIDEST:g}", file=self.name)

    def _check_counts(self) -> None:
        if self.counts is None:
            return
        expected = (len(self.value), len(self.counts.prompts))
        if not self.counts.num_passed.shape == self.counts.num_samples.shape == expected:
            raise InputError(f"counts must have {expected[0]} points by {expected[1]} prompts", file=self.name)
        if not (self.counts.num_samples.sum(axis=1) > 0).all():
            raise InputError("counts of a point without a single answer; expected at least one", file=self.name)

    def __len__(self) -> int:
        return len(self.compute)

    @property
    def last_compute(self) -> float:
        """Compute of the last point."""
        return float(self.compute[-1])

    def take(self, chosen: NDArray[np.bool_]) -> Curve:
        """Keep the chosen points."""
        counts = self.counts and replace(
            self.counts,
            num_passed=self.counts.num_passed[chosen],
            num_samples=self.counts.num_samples[chosen],
        )
        return replace(
            self,
            compute=self.compute[chosen],
            value=self.value[chosen],
            num_samples=self.num_samples[chosen],
            step=None if self.step is None else self.step[chosen],
            axes={unit: axis[chosen] for unit, axis in self.axes.items()},
            counts=counts,
            truncation=None if self.truncation is None else self.truncation[chosen],
        )

    def pooled(self, most_points: int) -> Curve:
        """Average neighbours until no more than so many points are left; a point at zero compute stays alone."""
        if len(self) <= most_points:
            return self
        is_start = self.compute == 0
        later = np.flatnonzero(~is_start)
        groups = [*np.flatnonzero(is_start)[:, None], *np.array_split(later, most_points - is_start.sum())]
        is_known = np.isfinite(self.num_samples)
        usual = float(np.median(self.num_samples[is_known])) if is_known.any() else 1.0
        weight = np.where(is_known, self.num_samples, usual)
        mean = partial(_weighted_means, groups=groups, weight=weight)
        counts = self.counts and replace(
            self.counts,
            num_passed=np.stack([self.counts.num_passed[group].sum(axis=0) for group in groups]),
            num_samples=np.stack([self.counts.num_samples[group].sum(axis=0) for group in groups]),
        )
        return replace(
            self,
            compute=mean(self.compute),
            value=np.clip(mean(self.value), 0.0, 1.0),
            num_samples=np.array([self.num_samples[group].sum() for group in groups]),
            step=None if self.step is None else mean(self.step),
            axes={unit: mean(axis) for unit, axis in self.axes.items()},
            counts=counts,
            truncation=None if self.truncation is None else mean(self.truncation),
        )

    def is_between(self, since: float | None = None, until: float | None = None) -> NDArray[np.bool_]:
        """Which points lie from `since` to `until`, both inclusive.

        A point at zero compute does whatever `since` is: it measures the start and belongs to no phase.
        """
        low = 0.0 if since is None else since
        high = np.inf if until is None else until
        return (self.compute <= high) & ((self.compute >= low) | (self.compute == 0))

    def between(self, since: float | None = None, until: float | None = None) -> Curve:
        """Keep the points from `since` to `until`, both inclusive, and one at zero compute."""
        return self.take(self.is_between(since, until))

    def against(self, unit: Unit) -> Curve:
        """Put the same points on another axis that the log knew."""
        if unit == self.unit:
            return self
        if unit not in self.axes:
            known = ", ".join(sorted({self.unit, *self.axes}))
            raise InputError(f"compute is not known in {unit}; known: {known}", file=self.name)
        return replace(self, unit=unit, compute=self.axes[unit], axes={**self.axes, self.unit: self.compute})


def _weighted_means(row: Vector, groups: list[NDArray[np.intp]], weight: Vector) -> Vector:
    return np.array([np.average(row[group], weights=weight[group]) for group in groups])


def _sum_of_neighbours(rows: Vector) -> Vector:
    """Each row with the two before and the two after it added, fewer at the ends."""
    total = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    at = np.arange(len(rows))
    return total[np.minimum(at + 3, len(rows))] - total[np.maximum(at - 2, 0)]
