"""Plan before paying: what a layout would do, what holds it back, and how to share out GPUs.

The simulation behind it, and the exact model, are in `plan_simulation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from scalerl.errors import InputError
from scalerl.pipeline.plan_simulation import SimulatedStep, Simulation, Totals
from scalerl.pipeline.plan_terms import Layout, Lengths, Points, Rates, Workload

STEPS = 200
SEARCH_STEPS = 60
NUM_SHOWN = 5
NEAR = 0.01
"""Layouts whose throughput differs by less than this share are as good as each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """How the time of trainers, or of generators, is spent; the three add up to 1."""

    busy: float
    """Trainers: on a step. Generators: with at least one sequence in flight."""
    updating: float
    """Weights are published; on one device, the other half has its turn."""
    idle: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What a layout does once it has warmed up."""

    layout: Layout
    num_steps: int
    """Simulated steps behind the means."""
    seconds: float
    """Of one step."""
    tokens: float
    """Of the answers that one step learns from."""
    trainers: Shares
    generators: Shares
    fill: float
    """Mean share of all slots that hold a sequence."""
    overhead: float
    """Share of a step that goes to logs, checkpoints and waiting for verdicts; the trainers count as busy."""
    use: float
    """Tokens that generators write, of those they would with every slot taken all the time."""
    lag_mean: float
    lag_max: int

    @property
    def tokens_per_second(self) -> float:
        """Tokens of answers learned from, over time."""
        return self.tokens / self.seconds

    @property
    def steps_per_hour(self) -> float:
        """Optimizer steps in an hour."""
        return 3600 / self.seconds

    @property
    def gpu_hours(self) -> float:
        """Of one step."""
        return self.seconds * self.layout.gpus / 3600

    @property
    def tokens_per_gpu_second(self) -> float:
        """Throughput for each device paid for."""
        return self.tokens_per_second / self.layout.gpus


@dataclass(frozen=True, kw_only=True, slots=True)
class Relief:
    """What one change alone would save."""

    name: str
    """generation, training, overhead, staleness, update or length of answers."""
    change: str
    """In words."""
    saved: float
    """Share of a step's seconds; 0 where the change does not help."""


def predict(
    layout: Layout,
    rates: Rates,
    workload: Workload,
    *,
    steps: int = STEPS,
    seed: int = 0,
    warm_up: int | None = None,
) -> Prediction:
    """Simulate a layout, and leave the first steps out: as many as fill the pipeline twice unless told.

    Under `phased` both counts are rounded up to whole phases.
    """
    if layout.place == "local" and rates.judge_seconds:
        raise InputError("rates.judge_seconds: one device waits for verdicts in overhead_seconds; expected 0")
    skipped = 2 * (layout.k + 1) if warm_up is None else warm_up
    phase = layout.k if layout.kind == "phased" else 1
    first, num = phase * math.ceil(skipped / phase), phase * math.ceil(steps / phase)
    made = list(islice(Simulation(layout, rates, workload, seed).steps(), first + num))
    before = made[first - 1][1] if first else Totals()
    return _prediction(layout, rates, [step for step, _ in made[first:]], made[-1][1].since(before))


def reliefs(layout: Layout, rates: Rates, workload: Workload, *, steps: int = STEPS, seed: int = 0) -> list[Relief]:
    """What would save most, by simulating each change alone; the first says what limits."""
    now = predict(layout, rates, workload, steps=steps, seed=seed)
    found: list[Relief] = []
    for name, change, (other, speed, work) in _changes(layout, rates, workload):
        then = predict(other, speed, work, steps=steps, seed=seed)
        saved = max(0.0, 1 - now.tokens_per_second / then.tokens_per_second)
        found.append(Relief(name=name, change=change, saved=saved))
    return sorted(found, key=lambda one: -one.saved)


def limit_in_words(found: list[Relief]) -> str:
    """Say what limits a layout."""
    first = found[0]
    if first.saved < 2 * NEAR:
        return "nothing limits it alone: no single change saves 2% of a step"
    others = [one for one in found[1:] if one.saved > first.saved / 2]
    more = "".join(f"; then {one.name}: {one.change} saves {one.saved:.0%}" for one in others)
    return f"{first.name} limits it: {first.change} saves {first.saved:.0%} of a step{more}"


def propose(
    gpus: int,
    template: Layout,
    rates: Rates,
    workload: Workload,
    *,
    steps: int = SEARCH_STEPS,
    seed: int = 0,
    num_shown: int = NUM_SHOWN,
    least_trainers: int = 1,
) -> list[Prediction]:
    """The best splits of a number of GPUs, by tokens a second, each with the smallest k that does as well.

    Splits are tried in the order of a bound on what they can do; the search ends when the bound of the next is
    below what has been found. k goes up to that of the template, from which kind, slots and the rest are taken.
    """
    each = template.tensor_parallel
    if gpus < each + least_trainers:
        raise InputError(
            f"{gpus} GPUs are too few; expected {each + least_trainers} at least: "
            f"one generator of {each} and {least_trainers} trainers"
        )
    splits = [
        replace(template, place="cluster", generators=generators, trainers=gpus - generators * each)
        for generators in range(1, (gpus - least_trainers) // each + 1)
    ]
    mean = workload.lengths.typical()
    bounds = {one: _most_tokens_per_second(one, rates, workload, mean) for one in splits}
    found: list[Prediction] = []
    for layout in sorted(splits, key=lambda one: -bounds[one]):
        best = sorted(found, key=lambda one: -one.tokens_per_second)[:num_shown]
        if len(best) == num_shown and bounds[layout] < best[-1].tokens_per_second:
            break
        found.append(predict(layout, rates, workload, steps=steps, seed=seed))
    best = sorted(found, key=lambda one: -one.tokens_per_second)[:num_shown]
    return [_with_least_k(one, rates, workload, steps, seed) for one in best]


def _prediction(layout: Layout, rates: Rates, steps: list[SimulatedStep], spent: Totals) -> Prediction:
    seconds, on_generators = spent.at, spent.at * layout.generators
    most = max(rates.generated_per_second(n) for n in range(1, layout.slots + 1))
    training, updating = spent.training_seconds / seconds, spent.updating_seconds / seconds
    writing, paused = spent.writing_seconds / on_generators, spent.paused_seconds / on_generators
    return Prediction(
        layout=layout,
        num_steps=len(steps),
        seconds=seconds / len(steps),
        tokens=sum(step.num_tokens for step in steps) / len(steps),
        trainers=Shares(busy=training, updating=updating, idle=max(0.0, 1 - training - updating)),
        generators=Shares(busy=writing, updating=paused, idle=max(0.0, 1 - writing - paused)),
        fill=spent.slot_seconds / (on_generators * layout.slots),
        overhead=rates.overhead_seconds * len(steps) / seconds,
        use=spent.written_tokens / (on_generators * most),
        lag_mean=sum(step.lag_mean * step.num_tokens for step in steps) / sum(step.num_tokens for step in steps),
        lag_max=max(step.lag_max for step in steps),
    )


def _faster(points: Points) -> Points:
    return tuple((count, 2 * speed) for count, speed in points)


def _changes(
    layout: Layout, rates: Rates, workload: Workload
) -> Iterator[tuple[str, str, tuple[Layout, Rates, Workload]]]:
    """What could be had at a price: each change with its words."""
    yield (
        "generation",
        "writing twice as fast",
        (layout, replace(rates, generation=_faster(rates.generation)), workload),
    )
    quick = replace(rates, training=_faster(rates.training))
    yield "training", "steps twice as fast", (layout, quick, workload)
    if rates.overhead_seconds:
        short = replace(rates, overhead_seconds=rates.overhead_seconds / 2)
        yield "overhead", "halving logs, checkpoints, waits for verdicts", (layout, short, workload)
    k = 2 * layout.k + 2
    yield "staleness", f"k = {k} instead of {layout.k}", (replace(layout, k=k), rates, workload)
    if rates.update_seconds:
        yield "update", "publishing weights in no time", (layout, replace(rates, update_seconds=0.0), workload)
    if workload.lengths.kind != "constant":
        even = replace(workload, lengths=Lengths(kind="constant", mean=workload.lengths.typical()))
        yield "length of answers", "all of the mean length", (layout, rates, even)


def _with_least_k(found: Prediction, rates: Rates, workload: Workload, steps: int, seed: int) -> Prediction:
    """The same split with the smallest k whose throughput is as good, by halving."""
    best, low = found, 1 if found.layout.kind == "phased" else found.layout.ahead
    while low < best.layout.k:
        k = (low + best.layout.k) // 2
        other = predict(replace(best.layout, k=k), rates, workload, steps=steps, seed=seed)
        if other.tokens_per_second >= (1 - NEAR) * found.tokens_per_second:
            best = other
        else:
            low = k + 1
    return best


def _most_tokens_per_second(layout: Layout, rates: Rates, workload: Workload, mean: float) -> float:
    """A bound: trainers never wait, or generators share what may be in flight and lose nothing to long answers."""
    tokens = workload.prompts * workload.samples * mean
    step = tokens * rates.trained_ratio / rates.trained_per_second(layout.trainers)
    batches = layout.k + 1 if layout.kind == "pipeline" else layout.k
    in_flight = min(layout.slots, batches * workload.prompts * workload.samples / layout.generators)
    written = layout.generators * _concave(rates, layout.slots, in_flight)
    return min(tokens / (step + rates.overhead_seconds + rates.update_seconds), written)


def _concave(rates: Rates, slots: int, in_flight: float) -> float:
    """The least concave curve above the rate of a generator: the best that any mix of loads with this mean does."""
    counts = np.arange(slots + 1)
    speeds = np.array([0.0, *(rates.generated_per_second(int(n)) for n in counts[1:])])
    hull: list[int] = []
    for n in counts.tolist():
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], n, speeds):
            hull.pop()
        hull.append(n)
    rising = np.maximum.accumulate(speeds[hull])
    return float(np.interp(in_flight, hull, rising))


def _is_below(left: int, middle: int, right: int, speeds: np.ndarray) -> bool:
    line = speeds[left] + (speeds[right] - speeds[left]) * (middle - left) / (right - left)
    return bool(speeds[middle] <= line)
