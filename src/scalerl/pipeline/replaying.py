"""Recorded rollouts fed into a trainer alone: objectives can be tried without generating anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from scalerl.errors import InputError
from scalerl.model.loading import device_of, load_policy
from scalerl.pipeline.exporting import policy_at
from scalerl.pipeline.local import load_trainer
from scalerl.pipeline.metrics import known
from scalerl.pipeline.metrics_rollouts import rollout_metrics
from scalerl.pipeline.metrics_update import update_metrics
from scalerl.recipe.recipe import Recipe
from scalerl.run.checkpoints import Checkpoint
from scalerl.run.directory import Run
from scalerl.run.groups import read_groups
from scalerl.run.names import by_step
from scalerl.trainer.step import Trainer

ROLLOUTS = "rollouts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Replayed:
    """One update on recorded rollouts."""

    step: int
    metrics: dict[str, float]


def recorded_steps(run: Run, first: int, last: int | None) -> dict[int, Path]:
    """The files of rollouts between two steps, ends included, in order."""
    every = by_step(run.path / ROLLOUTS)
    if not every:
        raise InputError("has no recorded rollouts; set log.rollouts_every to record some", file=run.path)
    found = {step: file for step, file in every.items() if first <= step and (last is None or step <= last)}
    if not found:
        raise InputError(
            f"has rollouts of steps {min(every)} to {max(every)}, none of those asked for", file=run.path
        )
    return found


def trainer_of(run: Run, recipe: Recipe, checkpoint: Checkpoint | None) -> Trainer:
    """A trainer with the model that the run started from, or with weights and moments of a checkpoint."""
    if recipe.runtime.threads:
        torch.set_num_threads(recipe.runtime.threads)
    if checkpoint is None:
        return Trainer(load_policy(recipe.model, device_of(recipe.runtime.device)), recipe)
    policy = policy_at(run, recipe, checkpoint)
    trainer = Trainer(policy, recipe)
    load_trainer(trainer, checkpoint.path, str(policy.device))
    return trainer


def replay(trainer: Trainer, files: Iterable[tuple[int, Path]]) -> Iterator[Replayed]:
    """Learn from each step's rollouts in turn; a replay of every step of a run makes the same updates."""
    for step, file in files:
        groups = read_groups(file)
        report = trainer.update(groups, step - 1)  # step n is the update of version n - 1
        yield Replayed(step=step, metrics=known({**rollout_metrics(groups), **update_metrics(report)}))
