"""How long an answer may be, and what happens when it is not done by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scalerl.recipe.knob import knob


@dataclass(frozen=True, kw_only=True, slots=True)
class Interruption:
    """Thinking is cut at a point drawn for each rollout; a phrase is forced, then the answer follows (paper)."""

    kind: Literal["interruption"] = "interruption"
    think_tokens: tuple[int, int] = knob(
        (10_240, 12_288), "Thinking is cut after a number of tokens drawn uniformly from this range.", at_least=1
    )
    phrase: str = knob(
        "Okay, time is up. Let me stop thinking and formulate a final answer now. {close}",
        "What is forced then; {close} is prompt.think_close. Its tokens carry no gradient.",
    )
    answer_tokens: int = knob(2_048, "Budget of the answer after thinking has ended.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Penalty:
    """A right answer loses reward as it comes near the limit: clip((max - length) / margin - 1, -1, 0)."""

    kind: Literal["penalty"] = "penalty"
    max_tokens: int = knob(14_336, "Budget of thinking and answer together.", at_least=1)
    margin_tokens: int = knob(2_048, "How long before the limit the penalty sets in.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A budget and nothing else."""

    kind: Literal["limit"] = "limit"
    max_tokens: int = knob(14_336, "Budget of thinking and answer together.", at_least=1)


Length = Interruption | Penalty | Limit
