"""How long an answer may be in tokens, and what is forced when thinking runs out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Budgets of one engine. Without a range for thinking there is one budget for all, `answer`."""

    answer: int
    stops: tuple[int, ...]
    """Tokens that end an answer."""
    think: tuple[int, int] | None = None
    """Thinking is cut after a number of tokens drawn uniformly from this range, ends included."""
    close: int = -1
    """Token that ends thinking; -1 where there is none."""
    phrase: tuple[int, ...] = ()
    """What is forced when thinking is cut."""

    @property
    def most_tokens(self) -> int:
        """The longest a rollout can be, the forced phrase included."""
        return self.answer if self.think is None else self.think[1] + len(self.phrase) + self.answer


def stream_of(seed: int) -> np.random.Generator:
    """The random numbers of one request."""
    return np.random.Generator(np.random.Philox(seed))


def draw_cut(limits: Limits, stream: np.random.Generator) -> int | None:
    """After how many tokens thinking is cut: the first number of a request's stream; None without such a limit."""
    if limits.think is None:
        return None
    return int(stream.integers(limits.think[0], limits.think[1], endpoint=True))
