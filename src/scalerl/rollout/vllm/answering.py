"""One answer in turns: thinking, what is forced when it runs out, the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalerl.records import Rollout
from scalerl.rollout.limits import Limits, draw_cut, stream_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One submission: what precedes it, and how far it may go."""

    tokens: list[int]
    num_new: int
    """How many of these, at the end, the model has not read: the forced phrase, and the last token sampled."""
    max_tokens: int
    stops: list[int]
    seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What was sampled in a turn."""

    tokens: list[int]
    log_probs: list[float]
    versions: list[int]


class Answer:
    """An answer that grows turn by turn by the rules of `slots.py`."""

    def __init__(self, prompt: NDArray[np.int32], limits: Limits, seed: int) -> None:
        self._prompt, self._limits, self._seed = [int(one) for one in prompt], limits, seed
        self._cut = draw_cut(limits, stream_of(seed))
        self._tokens: list[int] = []
        self._log_probs: list[float] = []
        self._versions: list[int] = []
        self._is_trainable: list[bool] = []
        self._is_thinking = self._cut is not None
        self._is_interrupted = False
        self._is_done = False

    def turn(self) -> Turn | None:
        """What to submit next; None when the answer is done."""
        if self._is_done:
            return None
        stops, most = list(self._limits.stops), self._limits.answer
        if self._is_thinking:
            assert self._cut is not None
            stops, most = [*stops, self._limits.close], self._cut
        return Turn(
            tokens=self._prompt + self._tokens,
            num_new=0 if not self._tokens else 1 + self._is_trainable.count(False),
            max_tokens=most,
            stops=stops,
            seed=_turn_seed(self._seed, is_thinking=self._is_thinking),
        )

    def say(self, said: Said, version: int) -> None:
        """Write down a turn, and force the phrase, under the version of the moment, where thinking ran out."""
        self._add(said.tokens, said.log_probs, said.versions, is_trainable=True)
        last = said.tokens[-1]
        if not self._is_thinking or last in self._limits.stops:
            self._is_done = True
        elif last != self._limits.close:
            phrase = self._limits.phrase
            self._add(list(phrase), [0.0] * len(phrase), [version] * len(phrase), is_trainable=False)
            self._is_interrupted = True
        self._is_thinking = False

    def _add(self, tokens: list[int], log_probs: list[float], versions: list[int], *, is_trainable: bool) -> None:
        self._tokens += tokens
        self._log_probs += log_probs
        self._versions += versions
        self._is_trainable += [is_trainable] * len(tokens)

    def rollout(self) -> Rollout:
        """The whole of it, once it is done."""
        assert self._is_done
        is_stopped = self._is_trainable[-1] and self._tokens[-1] in self._limits.stops
        return Rollout(
            tokens=np.array(self._tokens, dtype=np.int32),
            behavior=np.array(self._log_probs, dtype=np.float32),
            versions=np.array(self._versions, dtype=np.int32),
            is_trainable=np.array(self._is_trainable, dtype=np.bool_),
            ending="stopped" if is_stopped else "truncated",
            is_interrupted=self._is_interrupted,
        )


def _turn_seed(seed: int, *, is_thinking: bool) -> int:
    """A seed for each turn: with one for both, the answer would be drawn by the numbers that drew the thinking."""
    return int(np.random.SeedSequence([seed, int(is_thinking)]).generate_state(1, np.uint64)[0] >> np.uint64(1))
