"""What one answer earned."""

from __future__ import annotations

from scalerl.errors import InputError
from scalerl.recipe.lengths import Length, Penalty
from scalerl.records import Verdict


def reward(verdict: Verdict, num_tokens: int, length: Length) -> float:
    """Reward of an answer of so many tokens: 2 x score - 1, less the length penalty where it passed.

    An answer that could not be judged has none: not a number, and selection leaves it out.

    >>> from scalerl.recipe.lengths import Limit
    >>> reward(Verdict(score=1.0, passed=True), 100, Limit())
    1.0
    >>> reward(Verdict(score=0.0, passed=False), 100, Limit())
    -1.0
    """
    if verdict.error:
        return float("nan")
    if not 0 <= verdict.score <= 1:
        raise InputError(f"a judge gave the score {verdict.score}; expected a number from 0 to 1")
    earned = 2 * verdict.score - 1
    return earned + penalty(num_tokens, length) if verdict.passed and isinstance(length, Penalty) else earned


def penalty(num_tokens: int, length: Penalty) -> float:
    """What a right answer loses near the limit: clip((max - tokens) / margin - 1, -1, 0) (ScaleRL, equation 9).

    >>> [penalty(tokens, Penalty(max_tokens=14, margin_tokens=2)) for tokens in (12, 13, 14, 20)]
    [0.0, -0.5, -1.0, -1.0]
    """
    return min(0.0, max(-1.0, (length.max_tokens - num_tokens) / length.margin_tokens - 1))
