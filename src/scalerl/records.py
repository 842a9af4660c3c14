"""What travels through a run: prompts, the answers sampled for them, and what was measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ending = Literal["stopped", "truncated"]
VERDICT_KINDS = ("passed", "wrong", "runtime error", "time", "memory", "output", "forbidden", "judge error")
"""What can become of a program: it passed its tests, or how the first failed; the last is the judge's own fault."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A question, with what is needed to judge an answer.

    The id is stable over runs and unique over tasks: it starts with the name of its task.
    """

    id: str
    task: str
    text: str
    answer: Any
    """What the judge compares with: anything that JSON can hold."""
    difficulty: str = ""
    """A label for curves by difficulty, such as the number of steps; may be empty."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a judge says of one answer; an error is data, not an exception."""

    score: float
    passed: bool
    error: str = ""
    kind: str = ""
    """Why, in a word or two, where a task tells: of code one of `VERDICT_KINDS`."""
    reason: str = field(default="", compare=False)
    """Why, in a line for people; two verdicts that differ only in it are the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """One answer as the engine sampled it, token by token, and later what it was worth."""

    tokens: NDArray[np.int32]
    """What followed the prompt, forced tokens and the stop token included."""
    behavior: NDArray[np.float32]
    """Log-probability of each token under the policy that sampled it; 0 where the token was forced."""
    versions: NDArray[np.int32]
    """Policy version that each token was sampled from."""
    is_trainable: NDArray[np.bool_]
    """False for forced tokens: they carry no gradient."""
    ending: Ending
    is_interrupted: bool
    text: str = ""
    """All of it decoded, for people and judges."""
    verdict: Verdict | None = None
    reward: float = field(default=float("nan"))
    """What the answer earned: 2 x score - 1, with the length penalty where a recipe has one."""

    @property
    def passed(self) -> bool:
        """Whether a judge found it right; a truncated answer never is."""
        return self.verdict is not None and self.verdict.passed and self.ending == "stopped"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The rollouts of one visit to one prompt."""

    prompt: Prompt
    prompt_tokens: NDArray[np.int32]
    rollouts: tuple[Rollout, ...]
    admission: int
    """The ticket it was drawn under: unique in a run, also after a resume, and the order of every sum."""
    admitted_version: int
    """Policy version when it was admitted: no token of it is older."""

    @property
    def oldest_version(self) -> int:
        """The oldest version that sampled any of its tokens."""
        return min(int(one.versions.min()) for one in self.rollouts)

    @property
    def is_judged(self) -> bool:
        """Whether every rollout has been before a judge."""
        return all(one.verdict is not None for one in self.rollouts)

    @property
    def judged(self) -> tuple[Rollout, ...]:
        """The rollouts that a judge could judge."""
        return tuple(one for one in self.rollouts if one.verdict is not None and not one.verdict.error)

    @property
    def verdict_kinds(self) -> Counter[str]:
        """How many rollouts have each kind of verdict; nothing where the task tells no kinds."""
        return Counter(one.verdict.kind for one in self.rollouts if one.verdict is not None and one.verdict.kind)

    @property
    def pass_rate(self) -> float:
        """Share of judged rollouts that passed; not a number where none could be judged."""
        judged = self.judged
        return sum(one.passed for one in judged) / len(judged) if judged else float("nan")


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalPoint:
    """Held-out pass rate of one task after so much compute, as a line of `evals.jsonl` says it."""

    step: int
    gpu_hours: float
    flops: float
    tokens: int
    pass_rate: float
    num_prompts: int
    num_samples: int
    temperature: float
    task: str
    truncation: float
    device: str
