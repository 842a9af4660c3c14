"""One optimizer step: judged groups in, new weights and a report out."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scalerl.objective.loss import loss_of
from scalerl.objective.selection import Selection, select
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.trainer.batch import Row, micro_batches, rows_of
from scalerl.trainer.finite import check_finite
from scalerl.trainer.gradient import Passed, Trainable, backward, gathered
from scalerl.trainer.optimizer import Optimizer
from scalerl.trainer.ranks import ALONE, Ranks
from scalerl.trainer.update_report import UpdateReport, idle_report, peak_bytes


class Trainer:
    """Moves a policy's weights, in place, by the objective of a recipe.

    Where ranks share the work, each is called with the same groups, makes its share of the passes and reports on
    all of them; only `peak_bytes` is its own.
    """

    def __init__(self, policy: Trainable, recipe: Recipe, ranks: Ranks = ALONE) -> None:
        self._policy = policy
        self.ranks = ranks
        self._recipe = recipe
        self._loss = loss_of(recipe.loss)
        self._optimizer = Optimizer(policy.trainable(), recipe.optimizer)

    @property
    def num_calls(self) -> int:
        """How often the optimizer was called."""
        return self._optimizer.num_calls

    def update(self, groups: Sequence[Group], version: int) -> UpdateReport:
        """Learn from a batch under the weights of this version; flat groups alone leave everything as it is.

        A loss or gradient that is not finite raises `NonFiniteError` before any weight has moved.
        """
        selection = select(groups, self._recipe.objective)
        rows = () if selection.is_flat else rows_of(selection, self._recipe.objective)
        if self.ranks.count > 1:
            self.ranks.check_agreed(_mark(rows, version, self.num_calls), self._policy.device)
        if not rows:
            return idle_report(selection, self._policy.device)
        try:
            passed = self._passed(rows)
            return self._step(passed, rows, selection, version)
        finally:
            self._optimizer.clear()

    def state(self) -> dict[str, Tensor]:
        """Master weights, moments and counts, not copied: write them down before the next update."""
        return self._optimizer.state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on exactly where a state was taken, weights included."""
        self._optimizer.restore(state)

    def blank_state(self, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
        """Room for a state with these names and shapes, cut as this rank's weights are, for a reader to fill."""
        return self._optimizer.blank_state(shapes)

    def _passed(self, rows: Sequence[Row]) -> list[Passed]:
        knobs = self._recipe.optimizer
        passed: list[Passed] = []
        with _recomputing(self._policy, knobs.gradient_checkpointing):
            for batch in self.ranks.share(list(micro_batches(rows, knobs.micro_batch_tokens))):
                passed.append(backward(self._policy, batch, self._loss, self._recipe.sampling.temperature))
                self._optimizer.accumulate()
        return passed

    def _step(
        self, passed: Sequence[Passed], rows: Sequence[Row], selection: Selection, version: int
    ) -> UpdateReport:
        tokens = gathered(passed, self.ranks)
        loss = float(self.ranks.added(torch.stack([one.total for one in passed]).double().sum()))
        norm, rate = float(self._optimizer.gradient_norm()), self._optimizer.rate
        lag = _lag(rows, version)
        check_finite(loss, norm, tokens, version)
        return UpdateReport(
            selection=selection,
            has_stepped=True,
            loss=loss,
            grad_norm=norm,
            was_clipped=self._optimizer.step(norm),
            rate=rate,
            num_rows=len(rows),
            num_tokens=sum(len(row.tokens) for row in rows),
            num_trained=len(tokens.loss),
            peak_bytes=peak_bytes(self._policy.device),
            log_ratio=tokens.log_ratio,
            lag=lag,
            entropy=tokens.entropy,
            is_low=tokens.is_low,
            is_high=tokens.is_high,
        )


@contextmanager
def _recomputing(policy: Trainable, is_on: bool) -> Generator[None, None, None]:
    """Recompute activations in here only: the engine shares the module."""
    if not is_on:
        yield
        return
    policy.gradient_checkpointing(True)
    try:
        yield
    finally:
        policy.gradient_checkpointing(False)


def _mark(rows: Sequence[Row], version: int, num_calls: int) -> int:
    """A number that nearly always differs where rows, version or count do."""
    mark = zlib.crc32(np.array([len(rows), version, num_calls]).tobytes())
    for row in rows:
        for part in (row.tokens, row.behavior, np.array([row.advantage, row.weight])):
            mark = zlib.crc32(part.tobytes(), mark)
    return mark


def _lag(rows: Sequence[Row], version: int) -> NDArray[np.int32]:
    lag = version - np.concatenate([row.versions[row.is_trainable] for row in rows])
    assert lag.min() >= 0, f"a token was sampled from version {version - lag.min()}, which is later than {version}"
    return lag.astype(np.int32)
