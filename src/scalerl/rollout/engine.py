"""Continuous batching over fixed slots: sequences come and go, weights may change under those in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scalerl.model.compiling import compiled_layers
from scalerl.model.policy import Policy
from scalerl.records import Rollout
from scalerl.rollout.cache import LENGTH_STEP, Cache, FlashDecode, MaskedDecode, Prefill
from scalerl.rollout.limits import Limits
from scalerl.rollout.sampling import sample
from scalerl.rollout.slots import Slots

CPU_ROWS = 32
"""Slots on a CPU are computed in whole multiples of this: the last numbers of an odd lot go through scalar code,
whose exponential differs in the last bit from the vector's, and an answer would depend on its slot."""
CPU_PREFILL = 128
"""Tokens of one prefill on a CPU, padding included, if a prompt is not longer by itself."""
CPU_START = 16
"""Requests start together on a CPU, this many or all that wait: who starts alone is read alone."""
GPU_STRIDE = 8
"""Decode steps on a GPU between two looks at what is done: a look waits for the device."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One answer to be sampled; everything random about it follows from its seed."""

    key: tuple[int, int]
    """Whose it is: the admission of its group and its place there."""
    prompt: NDArray[np.int32]
    seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """A request and what was sampled for it."""

    request: Request
    rollout: Rollout


class Engine:
    """Samples requests in fixed slots under the policy's weights of the moment.

    Each token is stamped with its log-probability and the version that sampled it. New weights are taken up between
    two decode steps; keys and values that older weights wrote stay. On one thread of a CPU an answer under fixed
    weights is the same bit for bit whatever runs beside it: the shape in which a prompt is prefilled follows from
    its own length, and the number of slots never changes. That does not hold for a mixture of experts, whose tokens
    are sorted by expert, nor for more threads: torch's attention gives each a buffer of another alignment.
    """

    def __init__(
        self,
        policy: Policy,
        limits: Limits,
        *,
        slots: int,
        longest_prompt: int,
        temperature: float,
        use_graphs: bool = False,
        is_compiled: bool = False,
    ) -> None:
        self._policy, self._temperature = policy, temperature
        self._is_gpu = policy.device.type == "cuda"
        self._is_flash = self._is_gpu and policy.dtype != torch.float32
        rows = slots if self._is_gpu else -(-slots // CPU_ROWS) * CPU_ROWS
        self._cache = Cache(policy, slots=rows, length=longest_prompt + limits.most_tokens)
        self._slots = Slots(rows, limits, policy.device)
        self._requests: list[Request | None] = [None] * slots
        self._waiting: deque[Request] = deque()
        self._version = torch.zeros((), dtype=torch.int32, device=policy.device)
        self._decode_step = self._uncaptured()
        self._is_captured = not (use_graphs and self._is_flash)
        self._is_compiled = is_compiled
        self.num_prefilled = 0
        """Prompt tokens that have passed through the model so far."""
        self.num_sampled = 0
        """Tokens of finished answers so far."""

    @property
    def version(self) -> int:
        """The policy version that tokens are stamped with."""
        return int(self._version)

    @property
    def num_tokens(self) -> int:
        """Tokens read and written so far."""
        return self.num_prefilled + self.num_sampled

    @property
    def num_free(self) -> int:
        """Slots that no request, running or waiting, will take."""
        return self._requests.count(None) - len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or waits."""
        return not self._waiting and all(one is None for one in self._requests)

    def take_up(self, version: int) -> None:
        """Stamp what is sampled from now on with a new version: the weights have just been written."""
        self._version.fill_(version)

    def submit(self, requests: Sequence[Request]) -> None:
        """Queue requests; they start in this order as slots come free."""
        self._waiting.extend(requests)

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Start what can start, decode a little, and hand over what is done, in the order of slots."""
        self._start()
        for _ in range(GPU_STRIDE if self._is_gpu else 1):
            self._decode()
        return self._harvest()

    def _start(self) -> None:
        free = [slot for slot, one in enumerate(self._requests) if one is None]
        if not self._is_gpu and len(free) < min(CPU_START, len(self._waiting), len(self._requests)):
            return
        started = list(zip(free, self._waiting, strict=False))
        for slot, _ in started:
            self._requests[slot] = self._waiting.popleft()
        self._slots.begin(
            [slot for slot, _ in started], [one.prompt for _, one in started], [one.seed for _, one in started]
        )
        by_prompt: dict[bytes, list[int]] = {}
        for slot, request in started:
            by_prompt.setdefault(request.prompt.tobytes(), []).append(slot)
        texts = [np.frombuffer(one, dtype=np.int32)[:-1] for one in by_prompt]
        self._prefill(texts, list(by_prompt.values()))

    def _prefill(self, texts: Sequence[NDArray[np.int32]], slots: Sequence[list[int]]) -> None:
        """Fill slots with what precedes their last token."""
        self.num_prefilled += sum(len(one) for one in texts)
        for lot, shape in self._lots([len(one) for one in texts]):
            tokens = np.zeros(shape, dtype=np.int64)
            for row, one in enumerate(lot):
                tokens[row, : len(texts[one])] = texts[one]
            rows = [row for row, one in enumerate(lot) for _ in slots[one]]
            where = [slot for one in lot for slot in slots[one]]
            device = self._policy.device
            cached = Prefill(self._cache, torch.tensor(rows, device=device), torch.tensor(where, device=device))
            self._policy.hidden(torch.from_numpy(tokens).to(device), cached=cached)

    def _lots(self, lengths: Sequence[int]) -> Iterator[tuple[list[int], tuple[int, int]]]:
        """Texts to be prefilled together and the shape they are padded to.

        All at once on a GPU. On a CPU only texts of about the same length, always in as many rows: else the last
        bits of one would depend on the others.
        """
        by_width: dict[int, list[int]] = {}
        for one, length in enumerate(lengths):
            width = max(lengths) if self._is_gpu else -(-length // LENGTH_STEP) * LENGTH_STEP
            by_width.setdefault(width, []).append(one)
        for width, those in by_width.items():
            rows = len(those) if self._is_gpu else max(1, CPU_PREFILL // max(width, 1))
            for first in range(0, len(those) if width else 0, rows):
                yield those[first : first + rows], (rows, width)

    def _decode(self) -> None:
        if not self._is_captured:
            self._decode_step = self._captured()
            self._is_captured = True
        self._decode_step()

    def _uncaptured(self) -> Callable[[], None]:
        """One decode step as it is written."""
        if self._is_flash:
            return partial(self._sample_one, FlashDecode(self._cache, self._slots.position))
        return lambda: self._sample_one(MaskedDecode(self._cache, self._slots.position))

    def _sample_one(self, cached: MaskedDecode | FlashDecode) -> None:
        """Feed each slot's last token and sample the next."""
        slots = self._slots
        hidden = self._policy.hidden(slots.token[:, None], slots.position[:, None], cached)
        slots.advance(*self._sampled(hidden[:, 0], slots.chance()), self._version)

    def _sampled(self, hidden: Tensor, chances: Tensor) -> tuple[Tensor, Tensor]:
        """Sample from each hidden state, no more logits at a time than a chunk of tokens has."""
        parts = [
            sample(self._policy.logits(some).div_(self._temperature), their)
            for some, their in zip(
                *(one.split(self._policy.chunk_tokens) for one in (hidden, chances)), strict=True
            )
        ]
        tokens, log_probs = zip(*parts, strict=True)
        return torch.cat(tokens), torch.cat(log_probs)

    def _captured(self) -> Callable[[], None]:
        """One decode step as a CUDA graph; warmed up on idle slots, which nothing is written into."""
        step = self._decode_step
        was_active = self._slots.is_active.clone()
        self._slots.is_active.zero_()
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with compiled_layers(self._policy) if self._is_compiled else nullcontext():
            with torch.cuda.stream(stream):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(graph):
                step()
        self._slots.is_active.copy_(was_active)
        self._graph_reads = step  # the graph goes on reading tensors that only this holds
        return graph.replay

    def _harvest(self) -> list[Finished]:
        active = self._slots.is_active.cpu().numpy()
        done = [slot for slot, one in enumerate(self._requests) if one is not None and not active[slot]]
        found: list[Finished] = []
        for slot, rollout in zip(done, self._slots.rollouts(done) if done else [], strict=True):
            request, self._requests[slot] = self._requests[slot], None
            assert request is not None
            self.num_sampled += len(rollout.tokens)
            found.append(Finished(request=request, rollout=rollout))
        return found

    def state(self) -> tuple[dict[str, Tensor], dict[str, object]]:
        """Everything in flight: tensors, and what JSON can hold. Only a CPU keeps keys and values (bit for bit)."""
        tensors = {name: getattr(self._slots, name).cpu() for name in Slots.FIELDS}
        if not self._is_gpu:
            reach = int(self._slots.position.max()) + 1
            tensors["keys"] = torch.stack([one[:, :reach] for one in self._cache.keys])
            tensors["values"] = torch.stack([one[:, :reach] for one in self._cache.values])
        facts: dict[str, object] = {
            "requests": [None if one is None else _record(one) for one in self._requests],
            "waiting": [_record(one) for one in self._waiting],
            "version": self.version,
            "num_prefilled": self.num_prefilled,
            "num_sampled": self.num_sampled,
        }
        return tensors, facts

    @torch.inference_mode()
    def restore(self, tensors: dict[str, Tensor], facts: dict[str, object]) -> None:
        """Go on where a state was taken; keys and values that are not there are computed anew."""
        for name in Slots.FIELDS:
            getattr(self._slots, name).copy_(tensors[name])
        self._requests = [None if one is None else _request(one) for one in facts["requests"]]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportAttributeAccessIssue]
        self._waiting = deque(_request(one) for one in facts["waiting"])  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportAttributeAccessIssue]
        self.take_up(int(facts["version"]))  # pyright: ignore[reportArgumentType]
        if "keys" in tensors:
            for layer, (keys, values) in enumerate(zip(tensors["keys"], tensors["values"], strict=True)):
                self._cache.keys[layer][:, : keys.shape[1]] = keys
                self._cache.values[layer][:, : values.shape[1]] = values
        else:
            self._refill()
        self.num_prefilled = int(facts["num_prefilled"])  # pyright: ignore[reportArgumentType]
        self.num_sampled = int(facts["num_sampled"])  # pyright: ignore[reportArgumentType]

    def _refill(self) -> None:
        running = [(slot, one) for slot, one in enumerate(self._requests) if one is not None]
        for slot, request in running:
            said = self._slots.tokens[slot, : int(self._slots.count[slot])].cpu().numpy()
            self._prefill([np.concatenate([request.prompt, said])[:-1]], [[slot]])


def _record(request: Request) -> dict[str, object]:
    return {"key": list(request.key), "prompt": request.prompt.tolist(), "seed": request.seed}


def _request(record: dict[str, object]) -> Request:
    admission, place = record["key"]  # pyright: ignore[reportGeneralTypeIssues]
    return Request(
        key=(int(admission), int(place)),
        prompt=np.array(record["prompt"], dtype=np.int32),
        seed=int(record["seed"]),  # pyright: ignore[reportArgumentType]
    )
