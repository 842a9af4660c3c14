"""What other trainers get wrong between reward and loss, one test for each item of the list of known mistakes."""

import numpy as np
import pytest
import torch

from scalerl.objective.advantage import advantages
from scalerl.objective.averaging import token_weights
from scalerl.objective.loss import cispo, loss_of
from scalerl.objective.selection import select
from scalerl.recipe.losses import Cispo, Dapo, Grpo, Gspo, Reinforce
from scalerl.recipe.sections import Objective


def test_regression_1_the_cap_is_absolute_and_no_offset():
    """Caps of 0.2, 1.2 and 6 ship elsewhere under the name of 5."""
    policy = torch.tensor([1.0, 4.9, 5.5, 6.5]).log().requires_grad_()
    found = cispo(policy, torch.zeros(4), torch.ones(4), cap=Cispo().cap)
    found.loss.sum().backward()
    torch.testing.assert_close(policy.grad, -torch.tensor([1.0, 4.9, 5.0, 5.0]))
    assert found.is_high.tolist() == [False, False, True, True]


def test_regression_3_the_prompt_average_is_not_the_sample_average():
    """Lengths 1 and 9, losses 1 and 0: 0.5 by sample, 0.1 by prompt."""
    lengths, totals = [np.array([1, 9])], np.array([1.0, 0.0])
    assert float(token_weights(lengths, "sample")[0] @ totals) == pytest.approx(0.5)
    assert float(token_weights(lengths, "prompt")[0] @ totals) == pytest.approx(0.1)


def test_regression_3_dropped_prompts_are_not_in_the_divisor(rollout, group):
    mixed, flat = [rollout(1), rollout(-1)], [rollout(1), rollout(1)]
    survivors = select([group(0, mixed), group(1, flat), group(2, flat)], Objective()).survivors
    lengths = [np.array([one.is_trainable.sum() for one in each.rollouts]) for each in survivors]
    np.testing.assert_allclose(token_weights(lengths, "prompt"), [[1 / 6, 1 / 6]])


def test_regression_4_a_prompt_weighs_the_same_however_long_its_answers_are():
    """Weighting sums that were weighted before gives a prompt the square of its length."""
    lengths = [np.array([10, 30]), np.array([1, 3]), np.array([500, 1])]
    weights = token_weights(lengths, "prompt")
    shares = [float(weight @ count) for weight, count in zip(weights, lengths, strict=True)]
    assert shares == pytest.approx([1 / 3] * 3)
    assert weights[0][0] == pytest.approx(1 / (40 * 3))


def test_regression_6_long_wrong_answers_do_not_turn_a_sign():
    """Wrong answers of 1,000 tokens, right ones of 100: whitened by tokens, a wrong answer would be reinforced."""
    rewards = [np.array([1.0, 1, 1, -1]), np.array([1.0, -1, -1, -1])]
    centred = np.concatenate([one - one.mean() for one in rewards])
    lengths = np.where(np.concatenate(rewards) > 0, 100, 1000)
    by_tokens = centred - np.average(centred, weights=lengths)
    is_wrong = centred < 0
    assert by_tokens[is_wrong].max() > 0, "the mistake would show here"

    found = np.concatenate(advantages(rewards, "batch"))
    assert np.array_equal(np.sign(found), np.sign(centred))
    np.testing.assert_allclose(found / centred, 1 / np.sqrt(np.mean(centred**2)))


def test_regression_7_flat_groups_do_not_change_the_size_of_a_step(rollout, group):
    """Scaled before filtering, two flat groups beside a mixed one would make its advantages 1.73 times larger."""
    mixed, flat = group(0, [rollout(1), rollout(-1)]), [rollout(1), rollout(1)]

    def scaled(groups):
        return advantages([one.rewards for one in select(groups, Objective()).survivors], "batch")

    alone, beside = scaled([mixed]), scaled([mixed, group(1, flat), group(2, flat)])
    np.testing.assert_array_equal(alone[0], beside[0])
    np.testing.assert_allclose(alone[0], [1, -1])
    before_filtering = advantages([np.array([1.0, -1]), np.ones(2), np.ones(2)], "batch")[0]
    np.testing.assert_allclose(before_filtering / alone[0], 3**0.5)


INFINITE = float("inf")


@pytest.mark.parametrize("recipe", [Cispo(), Cispo(cap=INFINITE), Dapo(), Grpo(), Gspo()])
@pytest.mark.parametrize("height", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("log_ratio", [1e2, 1e4, 3e38, INFINITE, -1e2, -1e4, -INFINITE])
def test_regression_11_no_ratio_is_too_large_or_too_small(recipe, height, log_ratio):
    """A ratio of +inf survives a clamp, and 0 x inf is no number; here both tails are safe, also backward."""
    # One extreme token beside one that is not, each a rollout of its own.
    is_up = log_ratio > 0
    policy = torch.tensor([-0.5 if is_up else log_ratio, -1.0]).requires_grad_()
    behavior = torch.tensor([-log_ratio if is_up else -0.5, -1.0])
    found = loss_of(recipe)(policy, behavior, torch.tensor([height, 1.0]), torch.tensor([0, 1]))
    found.loss.sum().backward()
    assert found.loss.isfinite().all() and policy.grad.isfinite().all()
    assert policy.grad[1] == pytest.approx(-1), "the token beside it is not touched"


def test_regression_11_both_tails_are_counted():
    behavior, rollout = torch.full((4,), -200.0), torch.arange(4)
    policy, advantage = behavior + torch.tensor([150.0, -150, 150, -150]), torch.tensor([1.0, -1, -1, 1])
    for recipe in (Dapo(), Grpo(), Gspo()):
        found = loss_of(recipe)(policy, behavior, advantage, rollout)
        assert found.is_high.tolist() == [True, False, False, False], recipe.kind
        assert found.is_low.tolist() == [False, True, False, False], recipe.kind
    capped = loss_of(Cispo())(policy, behavior, advantage, rollout)
    assert capped.is_high.tolist() == [True, False, True, False] and not capped.is_low.any()


@pytest.mark.parametrize("height", [1.0, 0.0])
def test_regression_11_without_a_ratio_an_impossible_token_is_infinite_only_where_it_counts(height):
    policy = torch.tensor([-INFINITE]).requires_grad_()
    found = loss_of(Reinforce())(policy, torch.tensor([-1.0]), torch.tensor([height]), torch.tensor([0]))
    found.loss.sum().backward()
    assert found.loss.item() == (INFINITE if height else 0) and policy.grad.item() == -height
