"""Rates from the files of a run: its metrics, its recipe, its recorded rollouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.pipeline.plan import predict
from scalerl.pipeline.plan_reading import Plan
from scalerl.pipeline.plan_terms import Layout, Lengths, Rates, Workload
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.run.directory import Run
from scalerl.run.groups import read_groups
from scalerl.run.names import RECIPE, by_step

METRICS, ROLLOUTS = "metrics.jsonl", "rollouts"
FITTING_ROUNDS = 5
UPDATE, IDLE = "cluster/update_publish_seconds", "cluster/generators_idle_share"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What one step of a run took in the mean, the first tenth of its steps left out."""

    num_steps: int
    generation_seconds: float
    training_seconds: float
    overhead_seconds: float
    """Logs, checkpoints, and standing still until a verdict came."""
    generated_tokens: float
    trained_tokens: float
    answer_tokens: float
    """Of the answers that the step took, used or dropped."""
    length_mean: float
    length_max: float
    lag_mean: float
    lag_max: float
    update_seconds: float
    """Gathering and publishing weights; 0 in one process, where there is nothing to publish."""
    generators_idle: float
    """Share of time in which a generator of a cluster had nothing in hand."""

    @property
    def seconds(self) -> float:
        """All that is charged."""
        return self.generation_seconds + self.training_seconds + self.overhead_seconds


def measured(place: Path) -> Plan:
    """The plan that a run has carried out, with the rates it had."""
    recipe = load(place / RECIPE)
    if not recipe.engine.slots:
        raise InputError("has not begun: engine.slots is still 0", file=place)
    steps = measured_steps(place)
    lengths, notes = _lengths(place, steps)
    layout = _layout(recipe)
    workload = Workload(prompts=recipe.batch.prompts, samples=recipe.batch.samples, lengths=lengths)
    if layout.place == "cluster":
        return Plan(layout=layout, rates=_cluster_rates(steps, layout, workload), workload=workload, notes=notes)
    return Plan(layout=layout, rates=_rates(steps, layout, workload, recipe), workload=workload, notes=notes)


def _layout(recipe: Recipe) -> Layout:
    """Who ran where."""
    runtime, off_policy = recipe.runtime, recipe.off_policy
    is_local = runtime.kind == "local"
    return Layout(
        generators=1 if is_local else runtime.generators,
        trainers=1 if is_local else runtime.trainers,
        slots=recipe.engine.slots,
        k=off_policy.k,
        kind=off_policy.kind,
        ahead=off_policy.ahead,
        tensor_parallel=1 if is_local else runtime.tensor_parallel,
        place="local" if is_local else "cluster",
    )


def measured_steps(place: Path) -> Measured:
    """The means over a run's steps; the first ones warm caches and compile, and are left out.

    Under `phased` the first step of a phase pays for the generation of all: only whole phases count.
    """
    every = [row for row in Run.read(place).records(METRICS) if "seconds/training" in row]
    off_policy = load(place / RECIPE).off_policy
    phase = off_policy.k if off_policy.kind == "phased" else 1
    first = phase * math.ceil(max(1, len(every) / 10) / phase)
    rows = every[first : len(every) - len(every) % phase] or every
    if not rows:
        raise InputError("has made no step yet; expected a run with metrics", file=place)
    rollouts = _mean(rows, "batch/rollouts")
    return Measured(
        num_steps=len(rows),
        generation_seconds=_mean(rows, "seconds/generation"),
        training_seconds=_mean(rows, "seconds/training"),
        overhead_seconds=_mean(rows, "seconds/idle") + _mean(rows, "seconds/judging", missing=0.0),
        generated_tokens=_mean(rows, "tokens/generated"),
        trained_tokens=_mean(rows, "tokens/trained"),
        answer_tokens=rollouts * _mean(rows, "length/mean"),
        length_mean=_mean(rows, "length/mean"),
        length_max=max(row.get("length/max", 0.0) for row in rows),
        lag_mean=_mean([row for row in rows if "lag/mean" in row], "lag/mean"),
        lag_max=max((row["lag/max"] for row in rows if "lag/max" in row), default=0.0),
        update_seconds=_mean([row for row in rows if UPDATE in row], UPDATE),
        generators_idle=_mean([row for row in rows if IDLE in row], IDLE),
    )


def _mean(rows: Sequence[dict[str, Any]], key: str, missing: float | None = None) -> float:
    found = [float(row[key] if missing is None else row.get(key, missing)) for row in rows]
    return sum(found) / len(found) if found else 0.0


def _lengths(place: Path, steps: Measured) -> tuple[Lengths, tuple[str, ...]]:
    """Those of the recorded rollouts; without any a guess from mean and maximum, and a note."""
    files = by_step(place / ROLLOUTS).values()
    groups = [tuple(len(one.tokens) for one in group.rollouts) for file in files for group in read_groups(file)]
    recorded = tuple(group for group in groups if group and min(group) > 0)
    if recorded:
        return Lengths(kind="recorded", groups=recorded), ()
    return _guess(max(steps.length_mean, 1.0), max(steps.length_max, 1.0)), (
        "No rollouts are recorded: lengths are taken as geometric, up to the longest that was seen.",
    )


def _guess(mean: float, most: float) -> Lengths:
    """A geometric distribution with this mean once it is cut at `most`; a constant where no such one is close.

    Cut at m, the mean of a geometric distribution with the mean 1 / p is (1 - (1 - p)^m) / p.

    >>> round(_guess(50.0, 100.0).typical()), _guess(100.0, 100.0).kind
    (50, 'constant')
    """
    low, high = 1 / (100 * most), 1.0
    if mean * low >= 1 - (1 - low) ** most:
        return Lengths(kind="constant", mean=mean)
    for _ in range(60):
        p = (low + high) / 2
        low, high = (p, high) if 1 - (1 - p) ** most > mean * p else (low, p)
    return Lengths(kind="geometric", mean=1 / high, most=most)


def _rates(steps: Measured, layout: Layout, workload: Workload, recipe: Recipe) -> Rates:
    """Rates under which the simulated run takes the seconds of generation that the real one took.

    The metrics do not tell how many sequences were in flight, so the simulation does: a decode step is taken to
    last as long with few sequences as with all, so time scales with one number, the rate with every slot taken.
    """
    tokens = max(steps.trained_tokens, 1.0)
    training = ((1.0, tokens / max(steps.training_seconds, 1e-9)),)
    ratio = tokens / max(steps.answer_tokens, 1.0)
    unit = Rates(generation=((float(layout.slots), 1.0),), training=training, trained_ratio=ratio)
    simulated = predict(layout, unit, workload, steps=min(100, max(20, recipe.steps)))
    seconds_at_one = simulated.seconds * simulated.generators.busy * steps.answer_tokens / simulated.tokens
    return Rates(
        generation=((float(layout.slots), seconds_at_one / max(steps.generation_seconds, 1e-9)),),
        training=training,
        overhead_seconds=steps.overhead_seconds,
        trained_ratio=ratio,
    )


def _cluster_rates(steps: Measured, layout: Layout, workload: Workload) -> Rates:
    """Rates under which simulated generators are busy as long as the real ones were, with what was in flight.

    The metrics charge seconds for every device.
    """
    wall, training = steps.seconds / layout.gpus, steps.training_seconds / layout.gpus
    busy = max(wall * (1 - steps.generators_idle), 1e-9)
    trained = max(steps.trained_tokens, 1.0)
    rates = Rates(
        generation=((float(layout.slots), steps.generated_tokens / (busy * layout.generators)),),
        training=((float(layout.trainers), trained / max(training, 1e-9)),),
        update_seconds=steps.update_seconds,
        trained_ratio=trained / max(steps.answer_tokens, 1.0),
    )
    for _ in range(FITTING_ROUNDS):
        found = predict(layout, rates, workload, steps=40)
        ratio = found.seconds * found.generators.busy / busy
        rates = replace(rates, generation=tuple((count, speed * ratio) for count, speed in rates.generation))
    return rates
