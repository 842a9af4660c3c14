from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.objective import loss as losses
from scalerl.objective.loss import cispo, dapo, grpo, gspo, loss_of, reinforce
from scalerl.recipe.losses import Cispo, Dapo, Grpo, Gspo, Reinforce

ALL = [Cispo(), Dapo(), Grpo(), Gspo(clip_low=0.1, clip_high=0.15), Reinforce()]
log_ratios = st.lists(st.floats(-3, 3), min_size=1, max_size=6)


def tensors(*columns):
    return [torch.tensor(column, dtype=torch.float64) for column in columns]


def slope(function, policy, behavior, advantage, **numbers):
    """Gradient of the summed loss in the policy's log-probabilities."""
    policy = policy.detach().clone().requires_grad_()
    found = function(policy, behavior, advantage, **numbers)
    found.loss.sum().backward()
    return policy.grad


def with_rollout(function, rollout, policy, behavior, advantage):
    return function(policy, behavior, advantage, rollout)


def test_cispo_by_hand():
    # Ratios 2, 8, 1/2 under a cap of 5.
    policy, advantage = tensors([-1.0, -2.0, -3.0], [1.0, -1.0, 2.0])
    behavior = policy - torch.tensor([2.0, 8.0, 0.5], dtype=torch.float64).log()
    found = cispo(policy, behavior, advantage, cap=5.0)
    torch.testing.assert_close(found.loss, torch.tensor([2.0, -10.0, 3.0], dtype=torch.float64))
    assert found.is_high.tolist() == [False, True, False] and not found.is_low.any()
    expected = torch.tensor([-2.0, 5.0, -1.0], dtype=torch.float64)
    torch.testing.assert_close(slope(cispo, policy, behavior, advantage, cap=5.0), expected)


def test_dapo_by_hand():
    # Clip 0.2 below, 0.26 above; the clip binds only where the advantage would push further out.
    ratio, advantage = tensors([1.5, 1.5, 0.5, 0.5, 1.1], [1.0, -1.0, 1.0, -1.0, 2.0])
    behavior = torch.full_like(ratio, -4.0)
    policy = behavior + ratio.log()
    found = dapo(policy, behavior, advantage, clip_low=0.2, clip_high=0.26)
    torch.testing.assert_close(found.loss, torch.tensor([-1.26, 1.5, -0.5, 0.8, -2.2], dtype=torch.float64))
    assert found.is_high.tolist() == [True, False, False, False, False]
    assert found.is_low.tolist() == [False, False, False, True, False]
    expected = torch.tensor([0.0, 1.5, -0.5, 0.0, -2.2], dtype=torch.float64)
    torch.testing.assert_close(slope(dapo, policy, behavior, advantage, clip_low=0.2, clip_high=0.26), expected)


def test_gspo_by_hand():
    # Rollout 0 has log-ratios 0.2 and 0.4, mean 0.3; rollout 1 has -0.1 alone.
    behavior = torch.tensor([-1.0, -1.0, -1.0], dtype=torch.float64)
    policy = behavior + torch.tensor([0.2, 0.4, -0.1], dtype=torch.float64)
    advantage, rollout = torch.tensor([-1.0, -1.0, 2.0], dtype=torch.float64), torch.tensor([0, 0, 1])
    found = gspo(policy, behavior, advantage, rollout, clip_low=0.5, clip_high=0.5)
    expected = torch.tensor([np.exp(0.3), np.exp(0.3), -2 * np.exp(-0.1)])
    torch.testing.assert_close(found.loss, expected)
    # Two equal losses, each with half of the slope from either token.
    numbers = {"rollout": rollout, "clip_low": 0.5, "clip_high": 0.5}
    torch.testing.assert_close(slope(gspo, policy, behavior, advantage, **numbers), expected)


def test_gspo_clips_whole_rollouts():
    behavior = torch.full((3,), -1.0)
    policy = behavior + torch.tensor([0.0, 0.4, 0.1])
    advantage, rollout = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([0, 0, 1])
    found = gspo(policy, behavior, advantage, rollout, clip_low=0.15, clip_high=0.15)
    assert found.is_high.tolist() == [True, True, False], "the mean log-ratio is 0.2 and 0.1"
    numbers = {"rollout": rollout, "clip_low": 0.15, "clip_high": 0.15}
    assert slope(gspo, policy, behavior, advantage, **numbers)[:2].tolist() == [0, 0]


@given(log_ratios, st.floats(-2, 2), st.floats(0.01, 0.5), st.floats(0.01, 0.5))
def test_dapo_is_the_minimum_of_the_paper(ratios, height, low, high):
    log_ratio, advantage = torch.tensor(ratios, dtype=torch.float64), torch.full((len(ratios),), height).double()
    ratio = np.exp(np.array(ratios))
    found = dapo(log_ratio - 9, torch.full_like(log_ratio, -9), advantage, clip_low=low, clip_high=high)
    expected = -np.minimum(ratio * advantage.numpy(), np.clip(ratio, 1 - low, 1 + high) * advantage.numpy())
    np.testing.assert_allclose(found.loss.numpy(), expected, atol=1e-9)


@given(log_ratios, st.floats(-2, 2), st.floats(0.01, 0.5))
def test_grpo_is_dapo_with_equal_clips(ratios, height, clip):
    policy, advantage = torch.tensor(ratios), torch.full((len(ratios),), height)
    behavior = torch.zeros_like(policy)
    one, other = (
        grpo(policy, behavior, advantage, clip=clip),
        dapo(policy, behavior, advantage, clip_low=clip, clip_high=clip),
    )
    assert torch.equal(one.loss, other.loss) and torch.equal(one.is_low, other.is_low)
    assert torch.equal(one.is_high, other.is_high)


@given(log_ratios, st.floats(-2, 2))
def test_gspo_of_single_tokens_is_dapo(ratios, height):
    policy, advantage = torch.tensor(ratios), torch.full((len(ratios),), height)
    behavior, each = torch.zeros_like(policy), torch.arange(len(ratios))
    one = gspo(policy, behavior, advantage, each, clip_low=0.2, clip_high=0.26)
    assert torch.equal(one.loss, dapo(policy, behavior, advantage, clip_low=0.2, clip_high=0.26).loss)


@given(st.lists(st.floats(-9, -0.01), min_size=1, max_size=6), st.floats(-2, 2))
def test_at_ratio_one_every_loss_has_the_gradient_of_reinforce(values, height):
    policy = torch.tensor(values, dtype=torch.float64)
    advantage, rollout = torch.full_like(policy, height), torch.zeros(len(values), dtype=torch.int64)
    for recipe in ALL:
        found = slope(partial(with_rollout, loss_of(recipe), rollout), policy, policy.clone(), advantage)
        torch.testing.assert_close(found, -advantage)


@given(log_ratios, st.floats(-2, 2))
def test_cispo_without_a_cap_has_the_importance_weighted_gradient(ratios, height):
    """That of -ratio x advantage, which autograd takes through the ratio and cispo through the logarithm."""
    policy = torch.tensor(ratios, dtype=torch.float64) - 4
    behavior, advantage = torch.full_like(policy, -4), torch.full_like(policy, height)
    weighted = policy.clone().requires_grad_()
    (-(weighted - behavior).exp() * advantage).sum().backward()
    torch.testing.assert_close(slope(cispo, policy, behavior, advantage, cap=float("inf")), weighted.grad)


@pytest.mark.parametrize("recipe", [Dapo(), Grpo(), Gspo(clip_low=0.1, clip_high=0.15), Reinforce()])
def test_gradients_agree_with_finite_differences(recipe):
    draw = torch.Generator().manual_seed(3)
    behavior = -3 * torch.rand(80, generator=draw, dtype=torch.float64) - 0.1
    policy = (behavior + 0.5 * torch.randn(80, generator=draw, dtype=torch.float64)).requires_grad_()
    rollout = torch.arange(80) // 4
    advantage = torch.randn(20, generator=draw, dtype=torch.float64)[rollout]
    found = loss_of(recipe)(policy, behavior, advantage, rollout)
    assert isinstance(recipe, Reinforce) or (found.is_low.any() and found.is_high.any()), (
        "both tails are in the sample"
    )
    assert torch.autograd.gradcheck(
        lambda values: loss_of(recipe)(values, behavior, advantage, rollout).loss, (policy,)
    )


def test_loss_of_hands_on_the_numbers_of_the_recipe():
    policy, behavior = torch.zeros(1), torch.full((1,), -np.log(3.0))
    advantage, rollout = torch.ones(1), torch.zeros(1, dtype=torch.int64)

    def worth(recipe):
        return slope(partial(with_rollout, loss_of(recipe), rollout), policy, behavior, advantage).item()

    assert worth(Cispo(cap=2.5)) == pytest.approx(-2.5)
    assert worth(Cispo()) == pytest.approx(-3)
    assert worth(Dapo(clip_low=0.1, clip_high=1.9)) == worth(Grpo(clip=0.5)) == worth(Gspo()) == 0
    assert worth(Dapo(clip_low=0.1, clip_high=2.1)) == pytest.approx(-3)
    assert worth(Gspo(clip_high=2.1)) == pytest.approx(-3)
    assert worth(Reinforce()) == -1


def test_every_kind_of_loss_is_a_function_of_that_name():
    assert all(callable(getattr(losses, recipe.kind)) for recipe in ALL)


def test_not_a_number_is_never_hidden():
    policy, behavior, advantage = torch.tensor([float("nan")]), torch.zeros(1), torch.ones(1)
    for recipe in ALL:
        found = loss_of(recipe)(policy, behavior, advantage, torch.zeros(1, dtype=torch.int64))
        assert found.loss.isnan().all(), recipe.kind


def test_shapes_are_what_the_annotations_say():
    beartype = pytest.importorskip("beartype").beartype
    from jaxtyping import TypeCheckError, jaxtyped

    for function, numbers in ((cispo, {"cap": 5.0}), (grpo, {"clip": 0.2}), (reinforce, {})):
        checked = jaxtyped(typechecker=beartype)(function)
        assert checked(torch.zeros(3), torch.zeros(3), torch.ones(3), **numbers).loss.shape == (3,)
        with pytest.raises(TypeCheckError):
            checked(torch.zeros(3), torch.zeros(4), torch.ones(3), **numbers)


@pytest.mark.parametrize("cap", [0.2, 0.999, float("nan"), -5])
def test_a_cap_below_one_is_refused(cap):
    with pytest.raises(InputError, match="expected at least 1"):
        cispo(torch.zeros(1), torch.zeros(1), torch.ones(1), cap=cap)
