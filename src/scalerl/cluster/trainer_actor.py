"""One FSDP2 rank in a process of its own."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import torch.distributed
from numpy.typing import NDArray
from safetensors.torch import save

from scalerl.cluster.broadcast import Receivers
from scalerl.model.loading import device_name, device_of, dtype_of, load_policy
from scalerl.objective.selection import select
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.rollout.vllm.engine import UpdateTimes
from scalerl.rollout.vllm.nccl import Sender, sender
from scalerl.trainer import sharded_checkpoint
from scalerl.trainer.batch import Row, micro_batches
from scalerl.trainer.sharding import ShardedPolicy, mesh_over, shard
from scalerl.trainer.step import Trainer
from scalerl.trainer.update_report import UpdateReport

LOOPBACK = "127.0.0.1"


class TrainerActor:
    """Holds its shard of the policy; every method that computes is called on all ranks alike."""

    def __init__(self, recipe: Recipe, rank: int) -> None:
        self._recipe, self._rank = recipe, rank
        self._policy: ShardedPolicy | None = None
        self._trainer: Trainer | None = None
        self._meeting: socket.socket | None = None
        self._sending: tuple[int, Receivers, Sender] | None = None

    def address(self) -> tuple[str, int]:
        """Where the ranks meet: a socket that listens on this machine's own address in the cluster and no other."""
        host = ray.util.get_node_ip_address()
        self._meeting = socket.socket()
        self._meeting.bind((host, 0))
        self._meeting.listen()
        return host, self._meeting.getsockname()[1]

    def join(self, meeting: tuple[str, int], seconds: float) -> str:
        """Meet the other ranks, load and cut the model; the kind of device."""
        runtime = self._recipe.runtime
        device = device_of(runtime.device)
        if meeting[0] == LOOPBACK:
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        torch.set_float32_matmul_precision("highest")
        torch.set_num_threads(runtime.threads or 1)
        torch.distributed.init_process_group(
            "nccl" if device.type == "cuda" else "gloo",
            store=self._store(meeting, timedelta(seconds=seconds)),
            rank=self._rank,
            world_size=runtime.trainers,
            timeout=timedelta(seconds=seconds),
        )
        dtype = str(dtype_of(self._recipe.model.dtype, device)).removeprefix("torch.")
        # Loaded to the host: no GPU ever holds the whole model.
        policy = load_policy(replace(self._recipe.model, dtype=dtype), torch.device("cpu"))  # pyright: ignore[reportArgumentType]
        self._policy = shard(policy, mesh_over(device))
        self._trainer = Trainer(self._policy, self._recipe, self._policy.ranks)
        return device_name(device)

    def update(self, groups: Sequence[Group], version: int) -> UpdateReport | None:
        """Learn from a batch; the first rank reports, without the groups, which the driver has."""
        report = self._ready().update(groups, version)
        return replace(report, selection=select((), self._recipe.objective)) if self._rank == 0 else None

    def weights(self) -> tuple[int, NDArray[np.uint8]]:
        """A safetensors file of the whole model, made by all ranks, returned by the first; its size before it.

        As an array: Ray hands it over without another copy.
        """
        assert self._policy is not None
        found = self._policy.saved_weights()
        written = save(found) if self._rank == 0 else b""
        return len(written), np.frombuffer(written, np.uint8)

    def broadcast(
        self, version: int, generators: Sequence[Any], group: int, seconds: float
    ) -> list[UpdateTimes] | None:
        """Send the weights to all generators over NCCL; `group` changes when who takes part does."""
        assert self._policy is not None
        if self._sending is None or self._sending[0] != group:
            receivers = Receivers(generators, self._recipe.runtime.tensor_parallel, seconds)
            address = (ray.util.get_node_ip_address(), _free_port())
            made = sender(
                self._policy, receivers, address=address, world_size=receivers.world_size, rank=self._rank
            )
            self._sending = group, receivers, made
        _, receivers, made = self._sending
        receivers.version = version
        made.send_weights()
        return receivers.times if self._rank == 0 else None

    def log_probs(self, groups: Sequence[Group]) -> list[NDArray[np.float32]]:
        """What the trainer thinks of every trainable token of each rollout."""
        assert self._policy is not None
        rows = [_row(group, place) for group in groups for place in range(len(group.rollouts))]
        found = np.zeros(sum(row.num_trainable for row in rows), np.float32)
        for batch in micro_batches(rows, self._recipe.optimizer.micro_batch_tokens):
            with torch.no_grad():
                scored, _ = self._policy.scored(
                    self._here(batch.tokens),
                    self._here(batch.source),
                    self._here(batch.target),
                    self._recipe.sampling.temperature,
                )
            found[batch.order] = scored.float().cpu().numpy()
        ends = np.cumsum([row.num_trainable for row in rows])[:-1]
        return np.split(found, ends)

    def save(self, folder: str) -> None:
        """Write this rank's shard."""
        sharded_checkpoint.save(self._ready(), Path(folder))

    def load(self, folder: str) -> None:
        """Take up a state that any number of ranks wrote."""
        sharded_checkpoint.load(self._ready(), Path(folder))

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def _store(self, meeting: tuple[str, int], patience: timedelta) -> torch.distributed.Store:  # pyright: ignore[reportPrivateImportUsage]
        """What the ranks find each other by; left to itself, torch would listen on every address."""
        listening = None if self._meeting is None else self._meeting.detach()
        return torch.distributed.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
            *meeting,
            world_size=self._recipe.runtime.trainers,
            is_master=self._rank == 0,
            timeout=patience,
            master_listen_fd=listening,
        )

    def _here(self, values: NDArray[np.int64]) -> torch.Tensor:
        assert self._policy is not None
        return torch.from_numpy(values).to(self._policy.device)

    def _ready(self) -> Trainer:
        assert self._trainer is not None, "join() comes first"
        return self._trainer


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ray.util.get_node_ip_address(), 0))
        return probe.getsockname()[1]


def _row(group: Group, place: int) -> Row:
    rollout = group.rollouts[place]
    return Row(
        tokens=np.concatenate([group.prompt_tokens, rollout.tokens]).astype(np.int32),
        num_prompt_tokens=len(group.prompt_tokens),
        is_trainable=rollout.is_trainable,
        behavior=rollout.behavior,
        versions=rollout.versions,
        advantage=0.0,
        weight=0.0,
        group=0,
    )
