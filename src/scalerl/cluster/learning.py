"""The trainer ranks as one trainer: all of them compute, the first reports, and they live and die together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from scalerl.cluster.calls import Reference, answers, end
from scalerl.cluster.errors import LostError, TrainersLostError
from scalerl.errors import InputError
from scalerl.objective.selection import select
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.trainer.sharded_checkpoint import SHARDS
from scalerl.trainer.update_report import UpdateReport


class ClusterTrainer:
    """Calls every rank alike. A rank that is lost takes all others with it: `restart`, then `load` a checkpoint."""

    def __init__(self, recipe: Recipe, make: Callable[[int, int], Any]) -> None:
        self._recipe, self._make = recipe, make
        self._ranks: list[Any] = []
        self.num_restarts = 0
        self.busy_seconds = 0.0
        """Time spent in updates so far."""
        self.device = self._begin()

    def update(self, groups: Sequence[Group], version: int) -> UpdateReport:
        """Learn from a batch on all ranks; a loss that is not finite raises on all of them, and here."""
        began = time.monotonic()
        shared = ray.put(list(groups))
        report: UpdateReport = self._all("update", shared, version)[0]
        self.busy_seconds += time.monotonic() - began
        return replace(report, selection=select(groups, self._recipe.objective))

    def weights(self) -> Reference:
        """The whole model as a safetensors file, still in the object store."""
        calls = [rank.weights.remote() for rank in self._ranks]
        self._wait(calls[1:])
        self._wait_only(calls[0])
        return calls[0]

    def log_probs(self, groups: Sequence[Group]) -> list[NDArray[np.float32]]:
        """What the trainer thinks of every trainable token of each rollout."""
        return self._all("log_probs", list(groups))[0]

    def save(self, folder: Path) -> None:
        """Have each rank write its shard; the folder must be one that all of them see."""
        (folder / SHARDS).mkdir()
        self._all("save", str((folder / SHARDS).resolve()))

    def load(self, folder: Path) -> None:
        """Take up a checkpoint on all ranks, however many wrote it."""
        if not (folder / SHARDS).is_dir():
            raise InputError("holds the state of one process; a cluster takes up what a cluster wrote", file=folder)
        self._all("load", str((folder / SHARDS).resolve()))

    def restart(self) -> None:
        """End all ranks and start new ones, which know the recipe's model and nothing else."""
        self.num_restarts += 1
        self.close()
        self.device = self._begin()

    def close(self) -> None:
        """End all ranks."""
        for rank in self._ranks:
            end(rank)
        self._ranks = []

    def _begin(self) -> str:
        runtime = self._recipe.runtime
        self._ranks = [self._make(rank, self.num_restarts) for rank in range(runtime.trainers)]
        meeting = self._answered([self._ranks[0].address.remote()], runtime.start_seconds)[0]
        return self._answered(
            [rank.join.remote(meeting, runtime.update_seconds) for rank in self._ranks], runtime.start_seconds
        )[0]

    def _all(self, method: str, *arguments: object) -> list[Any]:
        return self._wait([getattr(rank, method).remote(*arguments) for rank in self._ranks])

    def _wait(self, calls: Sequence[Reference]) -> list[Any]:
        return self._answered(calls, self._recipe.runtime.update_seconds) if calls else []

    def _wait_only(self, call: Reference) -> None:
        """Wait for a value that nobody needs here: the weights of a large model are not fetched by the driver."""
        done, _ = ray.wait([call], timeout=self._recipe.runtime.update_seconds, fetch_local=False)
        if not done:
            raise TrainersLostError("trainer ranks have not made their weights in time")

    def _answered(self, calls: Sequence[Reference], seconds: float) -> list[Any]:
        try:
            return answers(calls, seconds, "trainer ranks")
        except LostError as lost:
            raise TrainersLostError(str(lost)) from lost
