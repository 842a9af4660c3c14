"""The groups of an evaluation in numbers: every measure of a set, and its pass rate by difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from scalerl.pipeline.measures import Answered, Measure, majority_at, mean_at, over_prompts, pass_at
from scalerl.records import Group


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """How one set of prompts was answered."""

    name: str
    num_prompts: int
    num_samples: int
    measures: Mapping[str, Measure]
    """By name: `mean@16`, `pass@4`, `maj@4`."""
    truncation: float
    interruption: float
    mean_tokens: float
    num_errors: int
    """Answers that no judge could judge; they count as wrong."""
    verdict_kinds: Mapping[str, int]
    """By kind of verdict: number of answers; empty where the task tells no kinds."""
    difficulties: Mapping[str, tuple[int, Measure]]
    """By label: number of prompts and mean@n; empty where prompts have no labels."""

    @property
    def mean(self) -> Measure:
        """Mean pass rate of a prompt."""
        return self.measures[f"mean@{self.num_samples}"]


def scored(
    name: str,
    groups: Sequence[Group],
    answered: Sequence[Answered],
    pass_ks: Sequence[int],
    majority_ks: Sequence[int],
) -> Scored:
    """Score the answers to a set of prompts; `answered` are those of the groups in the same order."""
    rollouts = [one for group in groups for one in group.rollouts]
    count = answered[0].num_samples
    measures = {f"mean@{count}": over_prompts(answered, mean_at)}
    measures |= {f"pass@{k}": over_prompts(answered, partial(pass_at, k=k)) for k in pass_ks}
    measures |= {f"maj@{k}": over_prompts(answered, partial(majority_at, k=k)) for k in majority_ks}
    return Scored(
        name=name,
        num_prompts=len(groups),
        num_samples=count,
        measures=measures,
        truncation=sum(one.ending == "truncated" for one in rollouts) / len(rollouts),
        interruption=sum(one.is_interrupted for one in rollouts) / len(rollouts),
        mean_tokens=sum(len(one.tokens) for one in rollouts) / len(rollouts),
        num_errors=sum(one.verdict is not None and bool(one.verdict.error) for one in rollouts),
        verdict_kinds=sum((group.verdict_kinds for group in groups), Counter[str]()),
        difficulties=_by_difficulty(groups, answered),
    )


def _by_difficulty(groups: Sequence[Group], answered: Sequence[Answered]) -> dict[str, tuple[int, Measure]]:
    by_label: dict[str, list[Answered]] = {}
    for group, one in zip(groups, answered, strict=True):
        by_label.setdefault(group.prompt.difficulty, []).append(one)
    labels = sorted((label for label in by_label if label), key=by_number)
    return {label: (len(by_label[label]), over_prompts(by_label[label], mean_at)) for label in labels}


def by_number(label: str) -> tuple[float, str]:
    """Sort labels that are numbers by their value, and others after them.

    >>> sorted(["coin", "10", "9"], key=by_number)
    ['9', '10', 'coin']
    """
    try:
        return float(label), label
    except ValueError:
        return float("inf"), label
