"""The trainer ranks as one trainer: all of them compute, the first reports, and they live and die together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from scalerl.cluster.calls import Reference, answers, end
from scalerl.cluster.errors import LostError, TrainersLostError
from scalerl.errors import InputError, StoppedError
from scalerl.objective.selection import select
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.rollout.vllm.engine import UpdateTimes
from scalerl.trainer.sharded_checkpoint import SHARDS
from scalerl.trainer.update_report import UpdateReport


class ClusterTrainer:
    """Calls every rank alike. A rank that is lost takes all others with it: `restart`, then `load` a checkpoint."""

    def __init__(self, recipe: Recipe, make: Callable[[int, int], Any]) -> None:
        self._recipe, self._make = recipe, make
        self._ranks: list[Any] = []
        self.num_restarts = 0
        self.device = self._begin()

    def update(self, groups: Sequence[Group], version: int, meanwhile: Callable[[], None]) -> UpdateReport:
        """Learn from a batch on all ranks; a loss that is not finite raises on all of them, and here."""
        sent = ray.put(list(groups))
        calls = [rank.update.remote(sent, version) for rank in self._ranks]
        report: UpdateReport = self._answered(calls, self._recipe.runtime.update_seconds, meanwhile)[0]
        return replace(report, selection=select(groups, self._recipe.objective))

    def weights(self) -> Reference:
        """The whole model as a safetensors file, still in the object store: the driver only learns its size."""
        calls = [rank.weights.options(num_returns=2).remote() for rank in self._ranks]
        self._wait([size for size, _ in calls])
        return calls[0][1]

    def broadcast(self, version: int, generators: Sequence[Any], group: int) -> list[UpdateTimes]:
        """Send the weights to these generators over NCCL; their own times."""
        return self._all("broadcast", version, list(generators), group, self._recipe.runtime.update_seconds)[0]

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

    def _answered(
        self, calls: Sequence[Reference], seconds: float, meanwhile: Callable[[], None] | None = None
    ) -> list[Any]:
        try:
            return answers(calls, seconds, "trainer ranks", meanwhile)
        except LostError as lost:
            raise TrainersLostError(str(lost)) from lost
        except (StoppedError, InputError):
            raise  # all ranks said so, and none of them is lost
        except Exception as error:  # a peer that died breaks a collective of those that live
            raise TrainersLostError(f"a trainer rank failed: {type(error).__name__}: {error}") from error
