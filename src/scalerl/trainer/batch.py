"""From surviving groups to padded micro-batches, with every normaliser of the step fixed beforehand.

The loss of a step is one weighted sum over its trainable tokens. Micro-batches only say in which portions it is
added up, so they cannot change the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalerl.objective.advantage import advantages
from scalerl.objective.averaging import token_weights
from scalerl.objective.selection import Counted, Selection
from scalerl.recipe.sections import Objective
from scalerl.records import Rollout
from scalerl.trainer.behavior import check_behavior


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One rollout with its prompt, and what each of its trainable tokens is worth in this step."""

    tokens: NDArray[np.int32]
    """Prompt and completion."""
    num_prompt_tokens: int
    is_trainable: NDArray[np.bool_]
    """Of each completion token, as are the two below."""
    behavior: NDArray[np.float32]
    versions: NDArray[np.int32]
    advantage: float
    weight: float
    """Of each of its trainable tokens."""
    group: int
    """Which of the surviving groups it belongs to."""

    @property
    def num_trainable(self) -> int:
        """Tokens that carry a gradient."""
        return int(np.count_nonzero(self.is_trainable))


@dataclass(frozen=True, kw_only=True, slots=True)
class MicroBatch:
    """Rows padded on the right, and their trainable tokens in one line."""

    tokens: NDArray[np.int64]
    """Row by time, less the last place, which predicts nothing; padding is 0 and nothing real attends to it."""
    source: NDArray[np.int64]
    """Where in the flattened rows the hidden state stands that predicts the token: one place before it."""
    target: NDArray[np.int64]
    rollout: NDArray[np.int64]
    """Row of the micro-batch that the token belongs to."""
    behavior: NDArray[np.float32]
    advantage: NDArray[np.float32]
    weight: NDArray[np.float32]
    order: NDArray[np.int64]
    """Place of the token among all trainable tokens of the step, which does not depend on the split."""


def rows_of(selection: Selection, objective: Objective) -> tuple[Row, ...]:
    """One row for each rollout that counts and has a trainable token, in the order of admission."""
    survivors = selection.survivors
    for one in survivors:
        check_behavior(one)
    scaled = advantages([one.rewards for one in survivors], objective.advantage_scale)
    counts = [np.array([one.is_trainable.sum() for one in each.rollouts], np.int64) for each in survivors]
    weights = token_weights(counts, objective.averaging)
    return tuple(
        _row(one, rollout, float(scaled[group][index]), float(weights[group][index]), group)
        for group, one in enumerate(survivors)
        for index, rollout in enumerate(one.rollouts)
        if counts[group][index] > 0
    )


def micro_batches(rows: Sequence[Row], max_tokens: int) -> Iterator[MicroBatch]:
    """Rows by falling length, as many at a time as fit a budget of padded tokens, at least one.

    The longest come first, so that a budget too large for the memory fails at once. Rows of equal length keep
    their order.
    """
    starts = np.cumsum([0, *(row.num_trainable for row in rows)])
    waiting = sorted(range(len(rows)), key=lambda index: -len(rows[index].tokens))
    while waiting:
        room = max(1, max_tokens // len(rows[waiting[0]].tokens))
        taken, waiting = waiting[:room], waiting[room:]
        yield _padded([rows[index] for index in taken], starts[taken])


def _row(one: Counted, rollout: Rollout, advantage: float, weight: float, group: int) -> Row:
    prompt = one.group.prompt_tokens
    assert len(prompt) > 0, f"prompt {one.group.prompt.id} has no tokens: nothing would predict its answer's first"
    return Row(
        tokens=np.concatenate([prompt, rollout.tokens]).astype(np.int32),
        num_prompt_tokens=len(prompt),
        is_trainable=rollout.is_trainable,
        behavior=rollout.behavior,
        versions=rollout.versions,
        advantage=advantage,
        weight=weight,
        group=group,
    )


def _padded(rows: Sequence[Row], starts: NDArray[np.int64]) -> MicroBatch:
    width = max(len(row.tokens) for row in rows)
    tokens = np.zeros((len(rows), width), np.int64)
    is_trained = np.zeros((len(rows), width), np.bool_)
    for index, row in enumerate(rows):
        tokens[index, : len(row.tokens)] = row.tokens
        is_trained[index, row.num_prompt_tokens : len(row.tokens)] = row.is_trainable
    rollout, place = np.nonzero(is_trained)
    counts = np.count_nonzero(is_trained, axis=1)
    firsts = np.cumsum(counts) - counts
    return MicroBatch(
        tokens=np.ascontiguousarray(tokens[:, :-1]),
        source=rollout * (width - 1) + place - 1,
        target=tokens[rollout, place],
        rollout=rollout,
        behavior=np.concatenate([row.behavior[row.is_trainable] for row in rows]).astype(np.float32),
        advantage=np.array([row.advantage for row in rows], np.float32)[rollout],
        weight=np.array([row.weight for row in rows], np.float32)[rollout],
        order=np.arange(len(rollout)) + (starts - firsts)[rollout],
    )
