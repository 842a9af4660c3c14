"""Fine-tuning on worked solutions, before any reinforcement: the model learns the form of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scalerl.objective.loss import loss_of
from scalerl.recipe.losses import Reinforce
from scalerl.recipe.sections import Optimizer as OptimizerSection
from scalerl.trainer.batch import Row, micro_batches
from scalerl.trainer.finite import check_finite
from scalerl.trainer.gradient import Passed, Trainable, backward, gathered
from scalerl.trainer.optimizer import Optimizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A prompt and the answer that should follow, in tokens."""

    prompt: NDArray[np.int32]
    answer: NDArray[np.int32]


def warm_start(
    policy: Trainable,
    batches: Iterator[Sequence[Example]],
    section: OptimizerSection,
    *,
    watch: Callable[[int, float], None] = lambda step, loss: None,
) -> float:
    """Lower the mean cross-entropy of the answers' tokens, one optimizer step a batch; returns the last batch's.

    Cross-entropy is the REINFORCE loss with an advantage of one for every token.
    """
    optimizer, loss = Optimizer(policy.trainable(), section), loss_of(Reinforce())
    total = float("nan")
    for step, batch in enumerate(batches):
        passed: list[Passed] = []
        for part in micro_batches(_rows(batch), section.micro_batch_tokens):
            passed.append(backward(policy, part, loss, 1.0))
            optimizer.accumulate()
        total, norm = float(sum(float(one.total) for one in passed)), float(optimizer.gradient_norm())
        check_finite(total, norm, gathered(passed), step)
        optimizer.step(norm)
        watch(step, total)
    return total


def _rows(batch: Sequence[Example]) -> list[Row]:
    weight = 1 / sum(len(one.answer) for one in batch)
    return [_row(one, weight) for one in batch]


def _row(one: Example, weight: float) -> Row:
    count = len(one.answer)
    return Row(
        tokens=np.concatenate([one.prompt, one.answer]).astype(np.int32),
        num_prompt_tokens=len(one.prompt),
        is_trainable=np.ones(count, np.bool_),
        behavior=np.zeros(count, np.float32),
        versions=np.zeros(count, np.int32),
        advantage=1.0,
        weight=weight,
        group=0,
    )
