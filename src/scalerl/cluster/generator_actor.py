"""One vLLM engine in a process of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalerl.records import Rollout
from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm import nccl
from scalerl.rollout.vllm.engine import UpdateTimes, VllmEngine
from scalerl.rollout.vllm.options import VllmOptions
from scalerl.rollout.vllm.weight_file import as_file


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A prompt to be answered as often as there are seeds."""

    prompt: NDArray[np.int32]
    seeds: tuple[int, ...]
    temperature: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The answers to a job, and what they cost."""

    rollouts: tuple[Rollout, ...]
    num_prefilled: int
    """The prompt, read once: its answers share it, and what is read again after a turn is vLLM's own business."""


class GeneratorActor:
    """Answers jobs concurrently; new weights come in between."""

    def __init__(self, options: VllmOptions, limits: Limits) -> None:
        self._options, self._limits = options, limits
        self._engine: VllmEngine | None = None
        self._num_running, self._since, self._busy = 0, 0.0, 0.0

    async def start(self) -> None:
        """Start vLLM."""
        self._engine = await VllmEngine.start(self._options, self._limits)

    async def answer(self, job: Job) -> Answered:
        """All answers to a job, or the error of the first that failed once the others are done."""
        engine = self._started()
        with self._working():
            asked = [engine.answer(job.prompt, seed, job.temperature) for seed in job.seeds]
            found = await asyncio.gather(*asked, return_exceptions=True)
        if not engine.is_alive:
            os._exit(1)  # without vLLM this process is worth nothing: be seen to be dead, and be replaced
        for one in found:
            if isinstance(one, BaseException):
                raise one
        rollouts = tuple(one for one in found if isinstance(one, Rollout))
        return Answered(rollouts=rollouts, num_prefilled=len(job.prompt))

    async def take_up(self, version: int, weights: NDArray[np.uint8], seconds: float) -> UpdateTimes:
        """Go on under new weights; returns when the next token comes from them."""
        with as_file(weights) as file:
            return await self._started().take_up(version, file, timeout=seconds)

    async def join(self, init_info: dict[str, Any], first_rank: int, seconds: float) -> None:
        """Meet the trainers for weights over NCCL."""
        await nccl.join(self._started(), init_info, first_rank=first_rank, timeout=seconds)

    async def receive(self, version: int, update_info: dict[str, Any], seconds: float) -> UpdateTimes:
        """Go on under the weights that the trainers broadcast."""
        return await nccl.receive(self._started(), version, update_info, timeout=seconds)

    async def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    async def version(self) -> int:
        """The version that vLLM says it runs."""
        return await self._started().said_version()

    async def checksum(self) -> str:
        """Over the weights that vLLM computes with."""
        return await self._started().checksum()

    async def busy_seconds(self) -> float:
        """Time in which at least one job was under way, so far."""
        return self._busy + (monotonic() - self._since if self._num_running else 0.0)

    async def close(self) -> None:
        """End vLLM's processes."""
        if self._engine is not None:
            await self._engine.close()

    def _started(self) -> VllmEngine:
        assert self._engine is not None, "start() comes first"
        return self._engine

    @contextmanager
    def _working(self) -> Generator[None]:
        if self._num_running == 0:
            self._since = monotonic()
        self._num_running += 1
        try:
            yield
        finally:
            self._num_running -= 1
            if self._num_running == 0:
                self._busy += monotonic() - self._since
