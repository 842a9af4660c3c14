"""The local runtime: engine, judge and trainer in one process, on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file

from scalerl.model.policy import Policy
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.trainer import sharded_checkpoint
from scalerl.trainer.sharded_checkpoint import SHARDS
from scalerl.trainer.step import Trainer
from scalerl.trainer.update_report import UpdateReport

TRAINER = "trainer.safetensors"
"""File of a checkpoint: master weights, moments and counts."""


class LocalTrainer(Trainer):
    """A trainer that writes its state into one file."""

    def __init__(self, policy: Policy, recipe: Recipe) -> None:
        super().__init__(policy, recipe)
        self._device = str(policy.device)

    def update(
        self, groups: Sequence[Group], version: int, meanwhile: Callable[[], None] = lambda: None
    ) -> UpdateReport:
        """Learn from a batch; nothing happens meanwhile on one device."""
        return super().update(groups, version)

    def save(self, folder: Path) -> None:
        """Write down weights and optimizer."""
        save_file({name: one.detach().contiguous() for name, one in self.state().items()}, folder / TRAINER)

    def load(self, folder: Path) -> None:
        """Go on exactly where that was written, by one process or by the ranks of a cluster."""
        load_trainer(self, folder, self._device)


def load_trainer(trainer: Trainer, folder: Path, device: str) -> None:
    """Take up the trainer's part of a checkpoint, whichever runtime wrote it."""
    if (folder / SHARDS).is_dir():
        sharded_checkpoint.load(trainer, folder / SHARDS)
    else:
        trainer.restore(load_file(folder / TRAINER, device=device))
