"""How one trainer names what it logs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Row = Mapping[str, float]


def first(row: Row, *keys: str) -> float:
    """Give the first of the keys that holds a finite number, else NaN."""
    return next((row[key] for key in keys if math.isfinite(row.get(key, math.nan))), math.nan)


def never(row: Row) -> float:
    """Say that this trainer does not log it."""
    return math.nan


def none_inside(row: Row) -> float:
    """Say that no evaluation time is inside the step's time."""
    return 0.0


def unknown_samples(row: Row, key: str) -> float:
    """Say that the number of judged answers is not logged."""
    return math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """The keys of one trainer's log; patterns are regular expressions that match a whole key.

    Amounts are of one step, unless `tokens_are_total`. `evaluation_seconds` are those inside `seconds`, NaN
    where a log cannot tell.
    """

    name: str
    marks: tuple[str, ...]
    """Keys by which the log is recognised."""
    held_out: tuple[str, ...]
    """Keys of held-out values, the best first."""
    mean_rewards: str = r"(?!)"
    """Held-out keys whose value is a mean reward."""
    training: tuple[str, ...] = ()
    """Keys of training rewards."""
    seconds: Callable[[Row], float] = never
    evaluation_seconds: Callable[[Row], float] = none_inside
    tokens: Callable[[Row], float] = never
    tokens_are_total: bool = False
    seconds_are_means: bool = False
    """A row holds the mean of all steps since the row before."""
    gpus: Callable[[Row], float] = never
    num_samples: Callable[[Row, str], float] = unknown_samples
    evaluates_first: bool = False
    """Steps count from zero, and keys under `test/` were measured before the step of their row."""

    def steps_done(self, step: float, key: str | None = None) -> float:
        """Count the steps done after a row, or when the value under a key of that row was measured."""
        is_before = key is not None and key.startswith("test/")
        return step + 1 if self.evaluates_first and not is_before else step

    def num_marks(self, keys: set[str]) -> int:
        """Count the marks that a log shows."""
        return sum(any(re.fullmatch(mark, key) for key in keys) for mark in self.marks)

    def held_out_keys(self, keys: set[str]) -> list[str]:
        """List the held-out keys of a log, the best first."""
        ranked = [key for pattern in self.held_out for key in sorted(keys) if re.fullmatch(pattern, key)]
        return list(dict.fromkeys(ranked))

    def training_keys(self, keys: set[str]) -> list[str]:
        """List the training-reward keys of a log, the best first."""
        ranked = [key for pattern in self.training for key in sorted(keys) if re.fullmatch(pattern, key)]
        return list(dict.fromkeys(ranked))

    def is_mean_reward(self, key: str) -> bool:
        """Tell whether a held-out value is a mean reward rather than a share of passed answers."""
        return re.fullmatch(self.mean_rewards, key) is not None
