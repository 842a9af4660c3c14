"""What we use of vLLM 0.32, as types: it is imported late and by name, and may not be installed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol


class Span(Protocol):
    """Tokens of an answer that one version sampled."""

    version: str
    start: int
    end: int


class LogProb(Protocol):
    """What is known of one token's chance."""

    logprob: float


class Completion(Protocol):
    """One answer."""

    token_ids: Sequence[int]
    logprobs: Sequence[Mapping[int, LogProb]] | None
    finish_reason: str | None
    weight_versions: Sequence[Span] | None


class Output(Protocol):
    """What comes of a submission: vLLM's `RequestOutput`."""

    finished: bool
    outputs: Sequence[Completion]
    num_cached_tokens: int | None


class AsyncLLM(Protocol):
    """The engine, whose processes are others than ours."""

    errored: bool
    model_config: Any
    output_processor: Any
    output_handler: asyncio.Task[None] | None

    def generate(
        self, prompt: Mapping[str, object], sampling_params: object, request_id: str
    ) -> AsyncGenerator[Output, None]:
        """Submit tokens and read what is sampled."""
        ...

    async def pause_generation(self, *, mode: str, clear_cache: bool) -> None:
        """Stand still between two steps."""
        ...

    async def resume_generation(self) -> None:
        """Go on."""
        ...

    async def collective_rpc(self, method: str, *, args: tuple[object, ...]) -> list[Any]:
        """Call a method of every worker."""
        ...

    async def update_weight_version(self, new_version: str) -> None:
        """Name the weights."""
        ...

    async def get_weight_version(self) -> str:
        """The name of the weights."""
        ...

    async def init_weight_transfer_engine(self, request: object) -> None:
        """Meet a trainer."""
        ...

    async def start_weight_update(self) -> None:
        """Make ready for new weights; only while paused."""
        ...

    async def update_weights(self, request: object) -> None:
        """Receive weights."""
        ...

    async def finish_weight_update(self) -> None:
        """Put the received weights in place."""
        ...

    def shutdown(self, timeout: float | None = None) -> None:
        """End all processes."""
        ...
