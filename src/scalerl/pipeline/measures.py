"""What several answers to each of several prompts say of a model: mean@n, pass@k and maj@k.

All three are exact averages over every way to take k of the n answers that were sampled; nothing is resampled.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_SAMPLES = 1_000
"""The ways to take half of more answers are more than a float can count."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The answers to one prompt: what each says, and whether a judge passed it."""

    votes: tuple[str, ...]
    """Empty where there is no answer, as after a truncation: it abstains."""
    passed: tuple[bool, ...]

    @property
    def num_samples(self) -> int:
        """Answers that were sampled."""
        return len(self.passed)

    @property
    def num_passed(self) -> int:
        """Answers that are right."""
        return sum(self.passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A mean over prompts and its standard error, which is not a number where there is a single prompt."""

    value: float
    error: float


def over_prompts(answered: Sequence[Answered], measure: Callable[[Answered], float]) -> Measure:
    """The mean of a measure of each prompt.

    Prompts are the unit: the error holds both what prompts differ by and the noise of their samples (Miller 2024,
    arXiv 2411.00640).
    """
    values = [measure(one) for one in answered]
    mean, count = math.fsum(values) / len(values), len(values)
    if count < 2:
        return Measure(value=mean, error=math.nan)
    variance = math.fsum((one - mean) ** 2 for one in values) / (count - 1)
    return Measure(value=mean, error=math.sqrt(variance / count))


def mean_at(one: Answered) -> float:
    """Share of a prompt's answers that are right."""
    return one.num_passed / one.num_samples


def pass_at(one: Answered, k: int) -> float:
    """Chance that k of the n answers, taken without putting back, hold a right one: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of Chen et al. 2021 (arXiv 2107.03374).

    >>> pass_at(Answered(votes=("4", "5", "5", "6"), passed=(True, False, False, False)), 2)
    0.5
    """
    _check(one, k)
    return 1 - math.comb(one.num_samples - one.num_passed, k) / math.comb(one.num_samples, k)


def majority_at(one: Answered, k: int) -> float:
    """Chance that the commonest of k answers, taken without putting back, is right.

    Answers that are tied share the vote equally; an answer that judges did not all pass or all fail counts by its
    share. Abstentions take up places among the k; where all abstain the vote has failed.

    >>> majority_at(Answered(votes=("4", "4", "5"), passed=(True, True, False)), 3)
    1.0
    """
    _check(one, k)
    assert one.num_samples <= MOST_SAMPLES, f"{one.num_samples} answers are too many to count all ways"
    counts = Counter(one.votes)
    right = Counter(vote for vote, passed in zip(one.votes, one.passed, strict=True) if passed)
    num_abstaining = counts.pop("", 0)
    answers = [(count, right[vote]) for vote, count in counts.items()]
    most = min(k, max(counts.values(), default=0))
    won = (_won_with(votes, k, answers, num_abstaining) for votes in range(1, most + 1))
    return math.fsum(won) / math.comb(one.num_samples, k)


def ballot(text: str) -> str:
    r"""What an answer votes for: its last `\boxed{}`, or what stands in its last answer tags, or all of it.

    >>> ballot(r"So it is \boxed{\frac{1}{2}}."), ballot("<answer> 42 </answer>"), ballot(" 7  apples\n")
    ('\\frac{1}{2}', '42', '7 apples')
    """
    tagged = re.findall(r"<answer>(.*?)</answer>", text, flags=re.DOTALL)
    found = _boxed(text) or (tagged[-1] if tagged else text)
    return " ".join(found.split())


def _won_with(most: int, k: int, answers: Sequence[tuple[int, int]], num_abstaining: int) -> float:
    """Over all ways to take k where the winners have `most` votes each: the sum of the winners' share of right.

    Answer after answer is added to two tables, by winners so far and places taken: the number of ways, and over
    these ways the sum of the winners' right votes.
    """
    ways = np.zeros((k // most + 1, k + 1))
    ways[0] = [math.comb(num_abstaining, taken) for taken in range(k + 1)]
    right = np.zeros_like(ways)
    for count, num_right in answers:
        before, won_before = ways, right
        ways, right = _below(before, count, most), _below(won_before, count, most)
        if count >= most:
            # Of the ways to take `most` of them, each right one is in C(count - 1, most - 1).
            chosen, among = math.comb(count, most), math.comb(count - 1, most - 1)
            ways[1:, most:] += chosen * before[:-1, :-most]
            right[1:, most:] += chosen * won_before[:-1, :-most] + num_right * among * before[:-1, :-most]
    return float(sum(right[winners, k] / (most * winners) for winners in range(1, len(right))))


def _below(table: NDArray[np.float64], count: int, most: int) -> NDArray[np.float64]:
    """The table when an answer gets fewer votes than the winners, in every way it can."""
    found = np.zeros_like(table)
    for votes in range(min(count + 1, most, table.shape[1])):
        found[:, votes:] += math.comb(count, votes) * table[:, : table.shape[1] - votes]
    return found


def _boxed(text: str) -> str:
    """The inside of the last box whose braces close; nothing where there is none."""
    for start in reversed([found.end() for found in re.finditer(r"\\boxed\s*\{", text)]):
        depth = 1
        for place in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                return text[start:place]
    return ""


def _check(one: Answered, k: int) -> None:
    assert 1 <= k <= one.num_samples, f"k is {k} of {one.num_samples} answers"
