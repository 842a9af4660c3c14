"""vLLM's engine behind the interface of ours: answers stamped token by token, weights taken up mid-sentence."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.records import Rollout
from scalerl.rollout.limits import Limits
from scalerl.rollout.vllm.answering import Answer, Said, Turn
from scalerl.rollout.vllm.errors import VllmError
from scalerl.rollout.vllm.interface import AsyncLLM, Output
from scalerl.rollout.vllm.launching import launch, sampling
from scalerl.rollout.vllm.options import VllmOptions
from scalerl.rollout.vllm.reading import said_of
from scalerl.rollout.vllm.weights import Shapes, refuse_unlike, shapes_of, shapes_of_model

COLDEST = 0.01
"""Below this temperature vLLM samples at this one, and at zero it does not sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateTimes:
    """Seconds that taking up new weights took, part by part."""

    pause: float
    load: float
    resume: float


class VllmEngine:
    """Samples answers by vLLM under the weights of the moment.

    An update pauses all sequences, loads, names the version and goes on; keys and values that older weights wrote
    stay, as in our own engine. Submissions share a prefix only if no update lies between them. If one fails,
    the engine stays paused until another succeeds: vLLM may be left with half a model.
    """

    def __init__(self, llm: AsyncLLM, options: VllmOptions, limits: Limits) -> None:
        self._llm: AsyncLLM | None = llm
        self._options, self._limits = options, limits
        self._expected = shapes_of_model(Path(options.model))
        self._is_tied = bool(getattr(llm.model_config.hf_config, "tie_word_embeddings", False))
        self._slots = asyncio.Semaphore(options.max_sequences)
        self._updating = asyncio.Lock()
        self._is_open = asyncio.Event()
        self._numbers = count()
        self._num_updates = 0
        self.version = 0
        """The version that new tokens come from, as vLLM echoed it."""
        self.num_sampled = 0
        """Tokens of finished answers so far."""
        self.num_prefilled = 0
        """Prompt tokens that have passed through the model so far, those read again after a turn included."""

    @classmethod
    async def start(cls, options: VllmOptions, limits: Limits) -> VllmEngine:
        """Start vLLM in processes of its own, under version 0; blocks until they have loaded the model.

        They die with the thread that called this. If it is killed in its first seconds, while they import vLLM, one
        is left, which vLLM ends itself after five minutes.
        """
        shapes_of_model(Path(options.model))
        engine = cls(launch(options), options, limits)
        try:
            await engine._call("scalerl_follow", os.getpid())
            await engine._label(0)
        except BaseException:
            await engine.close()
            raise
        engine._is_open.set()
        return engine

    @property
    def vllm(self) -> AsyncLLM:
        """The engine of vLLM itself, until it is closed."""
        if self._llm is None:
            raise VllmError("the engine is closed")
        return self._llm

    @property
    def is_alive(self) -> bool:
        """Whether vLLM still runs."""
        return self._llm is not None and not self._llm.errored

    @property
    def is_paused(self) -> bool:
        """Whether it takes up weights, or failed to and waits for good ones."""
        return not self._is_open.is_set()

    async def answer(self, prompt: NDArray[np.int32], seed: int, temperature: float) -> Rollout:
        """Sample one answer, in turns; all that is random about it follows from its seed."""
        self._check(prompt, temperature)
        answer = Answer(prompt, self._limits, seed)
        async with self._slots:
            while (turn := answer.turn()) is not None:
                answer.say(await self._sampled(turn, temperature), self.version)
        rollout = answer.rollout()
        self.num_sampled += len(rollout.tokens)
        return rollout

    async def take_up(self, version: int, weights: Path, *, timeout: float) -> UpdateTimes:
        """Go on under new weights: a safetensors file that holds the whole model by its saved names.

        Weights of another shape are refused before anything is touched. Any later failure leaves the engine paused.
        """
        self.refuse_unlike(shapes_of(weights))
        given = str(weights.resolve())
        return await self.change(version, lambda: self._call("scalerl_load", given, within=timeout), timeout)

    def refuse_unlike(self, shapes: Shapes) -> None:
        """Refuse weights that are not those of the whole model, by name and shape."""
        refuse_unlike(self._expected, shapes, is_tied=self._is_tied)

    async def change(self, version: int, load: Callable[[], Awaitable[object]], timeout: float) -> UpdateTimes:
        """Pause, load by whatever means, name the version, go on: within so many seconds in all."""
        async with self._updating:
            self._is_open.clear()
            began = perf_counter()
            async with _or_stay_paused(version, timeout):
                await self.vllm.pause_generation(mode="keep", clear_cache=False)
                paused = perf_counter()
                await load()
                loaded = perf_counter()
                await self._label(version)
                self._num_updates += 1
                await self.vllm.resume_generation()
            self._is_open.set()
            return UpdateTimes(pause=paused - began, load=loaded - paused, resume=perf_counter() - loaded)

    async def said_version(self) -> int:
        """The version that vLLM itself says it runs: an engine that hangs does not say it."""
        return int(await asyncio.wait_for(self.vllm.get_weight_version(), self._options.call_seconds))

    async def checksum(self) -> str:
        """Over the weights that vLLM computes with, not those it was sent; ranks in order."""
        return "-".join(await self._call("scalerl_checksum", within=self._options.start_seconds))

    async def close(self) -> None:
        """End vLLM's processes; answers in flight fail."""
        if self._llm is None:
            return
        llm, self._llm = self._llm, None
        self._is_open.set()  # what waits here shall fail, too
        llm.output_processor.propagate_error(VllmError("the engine is closed"))
        await asyncio.sleep(0)
        if llm.output_handler is not None:
            llm.output_handler.cancel()
        seconds = self._options.call_seconds
        await asyncio.wait_for(asyncio.to_thread(llm.shutdown, timeout=seconds / 2), seconds)

    def _check(self, prompt: NDArray[np.int32], temperature: float) -> None:
        most = len(prompt) + self._limits.most_tokens
        if not len(prompt) or most > self._options.max_model_len:
            raise InputError(
                f"a prompt of {len(prompt)} tokens with its answer may have {most}; "
                f"expected 1 to max_model_len = {self._options.max_model_len}"
            )
        if temperature < COLDEST:
            raise InputError(f"temperature is {temperature}; vLLM samples only from {COLDEST} up")

    async def _sampled(self, turn: Turn, temperature: float) -> Said:
        """Submit a turn when no update is under way, and wait for all of it."""
        seconds = self._options.answer_seconds
        try:
            found = await asyncio.wait_for(self._submitted(turn, temperature), seconds)
        except TimeoutError as error:
            raise VllmError(f"an answer was not done within {seconds:.0f} s") from error
        except Exception as error:
            raise VllmError(f"vLLM gave no answer: {_words(error)}") from error
        said = said_of(found)
        cached = 0 if found is None else found.num_cached_tokens or 0
        self.num_prefilled += max(0, len(turn.tokens) - turn.num_new - cached)
        return said

    async def _submitted(self, turn: Turn, temperature: float) -> Output | None:
        await self._is_open.wait()
        salted = {"type": "token", "prompt_token_ids": turn.tokens, "cache_salt": self._salt()}
        last = None
        async for one in self.vllm.generate(salted, sampling(turn, temperature), str(next(self._numbers))):
            last = one
        return last

    def _salt(self) -> str:
        """What keeps prefixes of different weights apart, also where a version is taken up twice."""
        return f"v{self.version}-{self._num_updates}"

    async def _label(self, version: int) -> None:
        """Name the version that tokens are stamped with, and have it said back."""
        await asyncio.wait_for(self.vllm.update_weight_version(str(version)), self._options.call_seconds)
        said = await asyncio.wait_for(self.vllm.get_weight_version(), self._options.call_seconds)
        if said != str(version):
            raise VllmError(f"vLLM says that it runs version {said!r}, expected {version}")
        self.version = version

    async def _call(self, method: str, *given: object, within: float | None = None) -> list[Any]:
        """Call a method of our worker on every rank."""
        seconds = within or self._options.call_seconds
        try:
            return await asyncio.wait_for(self.vllm.collective_rpc(method, args=given), seconds)
        except TimeoutError as error:
            raise VllmError(f"{method} was not done within {seconds:g} s") from error
        except Exception as error:
            raise VllmError(f"{method} failed: {_words(error)}") from error


@asynccontextmanager
async def _or_stay_paused(version: int, timeout: float) -> AsyncGenerator[None]:
    """Say of whatever goes wrong in an update what it leaves behind."""
    after = "the engine stays paused until an update succeeds"
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise VllmError(f"version {version} was not taken up within {timeout:g} s; {after}") from error
    except Exception as error:
        raise VllmError(f"version {version} could not be taken up: {_words(error)}; {after}") from error


def _words(error: BaseException) -> str:
    """An error and its cause; ours speak for themselves."""
    if isinstance(error, VllmError):
        return str(error)
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    return f"{type(error).__name__}: {error}{cause}"
