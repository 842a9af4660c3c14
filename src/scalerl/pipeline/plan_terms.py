"""What a plan is made from: rates that were measured, answers and their lengths, and who runs where."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.recipe.sections import Scheme

Place = Literal["cluster", "local"]
Spread = Literal["constant", "geometric", "lognormal", "recorded"]
Points = tuple[tuple[float, float], ...]
"""Pairs of a count and the tokens a second at that count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How fast each part is, as measured."""

    generation: Points
    """Sequences in flight on one generator, and the tokens a second of that generator."""
    training: Points
    """Trainers, and the tokens a second of all of them together."""
    update_seconds: float = 0.0
    """Publishing new weights: every generator pauses for so long."""
    overhead_seconds: float = 0.0
    """What a step takes the trainers beside its tokens: logs, checkpoints, waiting for verdicts on one device."""
    judge_seconds: float = 0.0
    """From a group's last token to its verdicts; generation goes on meanwhile."""
    trained_ratio: float = 1.0
    """Tokens through the trainer for each token of an answer: prompts add to it, dropped groups take from it."""

    def __post_init__(self) -> None:
        for name in ("generation", "training"):
            _check_points(name, getattr(self, name))
        for name in ("update_seconds", "overhead_seconds", "judge_seconds", "trained_ratio"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"rates.{name} is {value}; expected 0 or more")

    def generated_per_second(self, in_flight: float) -> float:
        """Tokens a second of one generator: straight lines from nothing through the points, then level.

        >>> rates = Rates(generation=((10, 100), (30, 200)), training=((1, 500),))
        >>> [rates.generated_per_second(n) for n in (5, 20, 99)]
        [50.0, 150.0, 200]
        """
        last, most = self.generation[-1]
        return most if in_flight >= last else _between(self.generation, in_flight)

    def trained_per_second(self, trainers: float) -> float:
        """Tokens a second of all trainers: straight lines from nothing, then each as fast as at the last point.

        >>> rates = Rates(generation=((1, 1),), training=((2, 100), (4, 180)))
        >>> [rates.trained_per_second(n) for n in (1, 3, 8)]
        [50.0, 140.0, 360.0]
        """
        last, most = self.training[-1]
        return most * trainers / last if trainers >= last else _between(self.training, trainers)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """How many tokens answers have."""

    kind: Spread
    mean: float = 0.0
    """Before any cut at `most`; for `recorded` it follows from the groups."""
    spread: float = 0.5
    """Of `lognormal`: standard deviation of the logarithm."""
    most: float = math.inf
    """Longer answers are cut here."""
    groups: tuple[tuple[int, ...], ...] = ()
    """Of `recorded`: the lengths of each group, so that the answers to one prompt stay together."""

    def __post_init__(self) -> None:
        if self.kind == "recorded":
            if not self.groups or not all(self.groups) or min(min(group) for group in self.groups) < 1:
                raise InputError("lengths.values has to hold answers of at least one token")
        elif not (math.isfinite(self.mean) and self.mean >= 1):
            raise InputError(f"lengths.mean is {self.mean:g}; expected 1 token or more")
        if not (math.isfinite(self.spread) and self.spread >= 0):
            raise InputError(f"lengths.spread is {self.spread}; expected 0 or more")
        if not self.most >= 1:
            raise InputError(f"lengths.most is {self.most}; expected 1 token or more")

    def draw(self, random: np.random.Generator, num_groups: int, samples: int) -> NDArray[np.float64]:
        """Lengths of some groups, a row each; a recorded group of another size is drawn from with replacement."""
        shape = (num_groups, samples)
        match self.kind:
            case "constant":
                drawn = np.full(shape, self.mean)
            case "geometric":
                drawn = random.geometric(1 / self.mean, shape).astype(float)
            case "lognormal":
                drawn = np.exp(random.normal(math.log(self.mean) - self.spread**2 / 2, self.spread, shape))
            case "recorded":
                chosen = [self.groups[at] for at in random.integers(len(self.groups), size=num_groups)]
                is_whole = len(self.groups) > 1
                drawn = np.array(
                    [one if is_whole and len(one) == samples else random.choice(one, samples) for one in chosen],
                    dtype=float,
                )
        return np.clip(drawn, 1, self.most)

    def typical(self) -> float:
        """The mean of what is drawn, cut and all."""
        if self.kind == "constant":
            return min(self.mean, self.most)
        if self.kind == "recorded":
            return float(np.mean([np.mean(np.minimum(group, self.most)) for group in self.groups]))
        return float(self.draw(np.random.default_rng(0), 4_096, 16).mean())


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """What one step learns from."""

    prompts: int
    samples: int
    lengths: Lengths

    def __post_init__(self) -> None:
        for name in ("prompts", "samples"):
            if getattr(self, name) < 1:
                raise InputError(f"batch.{name} is {getattr(self, name)}; expected 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Who runs where, and how far generation may run ahead."""

    generators: int
    trainers: int
    slots: int
    """Sequences decoded at once on one generator."""
    k: int
    kind: Scheme = "pipeline"
    ahead: int = 0
    tensor_parallel: int = 1
    """GPUs of one generator."""
    place: Place = "cluster"
    """`local`: generation and training take turns on one device."""
    admits_while_training: bool = True
    """Whether groups start and are handed over while the trainers are busy; on one device they never are."""

    def __post_init__(self) -> None:
        for name in ("generators", "trainers", "slots", "tensor_parallel"):
            if getattr(self, name) < 1:
                raise InputError(f"layout.{name} is {getattr(self, name)}; expected 1 or more")
        if self.k < 0:
            raise InputError(f"off_policy.k is {self.k}; expected 0 or more")
        if self.kind == "phased" and self.k < 1:
            raise InputError(f"off_policy.k is {self.k}; phased makes k updates a phase: expected at least 1")
        if self.place == "local" and (self.generators, self.trainers) != (1, 1):
            raise InputError("a local layout is one device; expected 1 generator and 1 trainer")

    @property
    def gpus(self) -> int:
        """Devices that are paid for."""
        return 1 if self.place == "local" else self.generators * self.tensor_parallel + self.trainers


def _between(points: Points, count: float) -> float:
    at = bisect_right(points, count, key=lambda point: point[0])
    (low, slow), (high, fast) = points[at - 1] if at else (0.0, 0.0), points[at]
    return slow + (fast - slow) * (count - low) / (high - low)


def _check_points(name: str, points: Points) -> None:
    if not points:
        raise InputError(f"rates.{name} is empty; expected at least one pair of a count and its tokens a second")
    counts = [count for count, _ in points]
    if counts[0] <= 0 or any(one >= other for one, other in pairwise(counts)):
        raise InputError(f"rates.{name} has the counts {counts}; expected rising ones, from above 0")
    for count, speed in points:
        if not (math.isfinite(speed) and speed > 0):
            raise InputError(f"rates.{name} is {speed:g} tokens a second at {count:g}; expected more than 0")
