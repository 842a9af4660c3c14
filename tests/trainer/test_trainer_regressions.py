"""What other trainers get wrong between groups and weights, one test for each item of the list of mistakes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from scalerl.errors import InputError
from scalerl.objective.selection import select
from scalerl.recipe.losses import Cispo, Gspo, Reinforce
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Objective, Optimizer, Sampling
from scalerl.trainer.batch import micro_batches, rows_of
from scalerl.trainer.step import Trainer

RECIPE = Recipe(optimizer=Optimizer(rate=1e-3, warmup_steps=0))


def test_regression_2_the_ratio_is_against_the_log_probabilities_noted_when_sampling(averager, batch):
    """Against a recomputed policy it would be 1, and the correction would sit where no cap bounds it."""

    def update(shift):
        groups = [
            replace(
                one,
                rollouts=tuple(
                    replace(each, behavior=np.full(len(each.tokens), -9 - shift, np.float32))
                    for each in one.rollouts
                ),
            )
            for one in batch(seed=1)
        ]
        return Trainer(averager(), replace(RECIPE, loss=Cispo(cap=1e9))).update(groups, 9)

    one, twice = update(0.0), update(math.log(2))
    np.testing.assert_allclose(twice.log_ratio - one.log_ratio, math.log(2), atol=1e-5)
    assert twice.grad_norm / one.grad_norm == pytest.approx(2, rel=1e-5)


def test_regression_2_the_cap_is_the_only_bound_and_bounds_everything(averager, rollout, group):
    """All ratios lie beyond the cap: the gradient is the cap times that of REINFORCE, no second factor enters."""
    answers = [
        rollout([3, 4], 1.0, behavior=np.float32([-20, -20])),
        rollout([5], -1.0, behavior=np.float32([-20])),
    ]
    norms = {
        loss.kind: Trainer(averager(), replace(RECIPE, loss=loss)).update([group(0, answers)], 0).grad_norm
        for loss in (Cispo(cap=5.0), Reinforce())
    }
    assert norms["cispo"] / norms["reinforce"] == pytest.approx(5, rel=1e-5)


@pytest.mark.parametrize("max_tokens", [1, 500, 903, 10_000])
def test_regression_8_portions_of_a_step_are_not_averaged(rollout, group, max_tokens):
    """100 tokens with loss 2.0 and 900 with 0.5 are 0.65 in the mean; the mean of two means would be 1.25."""
    objective = Objective(averaging="token")
    answers = [rollout([3] * 100, 1.0), rollout([4] * 900, -1.0)]
    rows = rows_of(select([group(0, answers)], objective), objective)
    found = sum(
        float(np.sum(one.weight.astype(np.float64) * np.where(one.target == 3, 2.0, 0.5)))
        for one in micro_batches(rows, max_tokens)
    )
    assert found == pytest.approx(0.65, rel=1e-6)


@pytest.mark.parametrize("averaging", ["prompt", "sample", "token"])
@pytest.mark.parametrize("max_tokens", [1, 20, 50, 10_000])
def test_regression_8_normalisers_are_fixed_before_the_split(batch, averaging, max_tokens):
    objective = Objective(averaging=averaging)
    rows = rows_of(select(batch(seed=3), objective), objective)
    found = list(micro_batches(rows, max_tokens))
    weights = np.concatenate([one.weight for one in found])[
        np.argsort(np.concatenate([one.order for one in found]))
    ]
    (whole,) = micro_batches(rows, 10**6)
    assert np.array_equal(weights, whole.weight[np.argsort(whole.order)]), "exactly equal, not nearly"
    assert weights.astype(np.float64).sum() == pytest.approx(1, rel=1e-6)


MISSING = {
    "not a number": ([-1.0, float("nan")], "1 log-probabilities that are no finite number"),
    "impossible": ([-1.0, -float("inf")], "1 log-probabilities that are no finite number"),
    "a probability": ([0.2, 0.9], "a log-probability of 0.9, which is above 0"),
    "too few": ([-1.0], r"2 tokens but \(1, 2, 2\) log-probabilities"),
    "none": ([], r"2 tokens but \(0, 2, 2\) log-probabilities"),
    "filled with zeros": ([0.0, 0.0], "all have log-probability 0, so none was recorded"),
}


@pytest.mark.parametrize("case", MISSING)
def test_regression_10_missing_log_probabilities_are_refused(averager, rollout, group, case):
    behavior, message = MISSING[case]
    other = [0.0, 0.0] if case == "filled with zeros" else [-1.0, -1.0]
    answers = [
        rollout([3, 5], -1.0, behavior=np.float32(other)),
        rollout([3, 4], 1.0, behavior=np.float32(behavior)),
    ]
    with pytest.raises(InputError, match=f"group 7 of prompt chain/7: .*{message}"):
        Trainer(averager(), RECIPE).update([group(7, answers)], 0)


def test_regression_10_certain_words_and_rounding_are_no_reason_to_refuse(averager, rollout, group):
    """A trained model's probabilities round to 1; forced tokens have none at all."""
    marks = np.array([True, False, False])
    certain = {"is_trainable": marks, "behavior": np.float32([0, float("nan"), 0])}
    answers = [
        rollout([3, 4, 5], 1.0, **certain),
        rollout([3, 6, 7], -1.0, **certain),
        rollout([3], -1.0, behavior=np.float32([3e-7])),
    ]
    assert Trainer(averager(), RECIPE).update([group(0, answers)], 0).has_stepped


def test_regression_10_the_temperature_is_applied_in_the_trainer_too(averager, rollout, group):
    """Sampled at 0.5 and noted at 0.5, nothing is off-policy: every log-ratio is 0."""
    policy = averager()
    with torch.no_grad():
        hidden = policy.hidden(torch.tensor([[1, 2]]))[0, -1:].expand(2, -1)
        noted = policy.log_probs(hidden, torch.tensor([3, 4]), 0.5)[0].numpy()
    answers = [rollout([3], 1.0, behavior=noted[:1]), rollout([4], -1.0, behavior=noted[1:])]
    found = Trainer(policy, replace(RECIPE, sampling=Sampling(temperature=0.5))).update([group(0, answers)], 0)
    np.testing.assert_allclose(found.log_ratio, 0, atol=1e-6)
    other = Trainer(averager(), RECIPE).update([group(0, answers)], 0)
    assert np.abs(other.log_ratio).max() > 0.1


def test_regression_11_an_extreme_ratio_neither_stops_nor_spoils_an_update(averager, rollout, group):
    answers = [
        rollout([3, 4], 1.0, behavior=np.float32([-500, -2])),
        rollout([5, 6], -1.0, behavior=np.float32([-2, -1e30])),
    ]
    for loss in (Cispo(), Gspo()):
        found = Trainer(averager(), replace(RECIPE, loss=loss)).update([group(0, answers)], 0)
        assert found.has_stepped and np.isfinite(found.grad_norm) and found.is_high.any()
