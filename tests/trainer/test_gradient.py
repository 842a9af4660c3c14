"""The gradient of a step against the definition, and that no split into micro-batches changes it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scalerl.objective.loss import loss_of
from scalerl.objective.selection import select
from scalerl.recipe.losses import Cispo, Dapo, Grpo, Gspo, Reinforce
from scalerl.recipe.sections import Objective
from scalerl.trainer.batch import micro_batches, rows_of
from scalerl.trainer.gradient import backward, gathered

LOSSES = [Cispo(cap=1.2), Dapo(), Grpo(), Gspo(clip_low=0.1, clip_high=0.15), Reinforce()]
AVERAGINGS = ["prompt", "sample", "token"]


def gradient_of(policy, groups, *, loss, objective=None, max_tokens=10**6, temperature=1.0):
    objective = objective or Objective()
    for one in policy.trainable().values():
        one.grad = None
    rows = rows_of(select(groups, objective), objective)
    passed = [backward(policy, one, loss_of(loss), temperature) for one in micro_batches(rows, max_tokens)]
    gradient = torch.cat([one.grad.flatten() for one in policy.trainable().values()]).clone()
    return float(sum(one.total for one in passed)), gradient, gathered(passed)


def log_probs_of(policy, group, rollout, temperature):
    """Of every word of an answer, from the full logits of that answer alone."""
    tokens = torch.tensor(np.concatenate([group.prompt_tokens, rollout.tokens]), dtype=torch.int64)
    every = policy.hidden(tokens[None, :-1])[0] @ policy.module["head"].T / temperature
    first = len(group.prompt_tokens) - 1
    return every.log_softmax(-1)[torch.arange(first, len(tokens) - 1), tokens[first + 1 :]]


def loss_by_definition(policy, groups, loss, averaging, temperature):
    """Nested means over prompts, rollouts and tokens, a rollout at a time."""
    by_prompt = []
    spread = np.std(
        np.concatenate([[r.reward - np.mean([x.reward for x in g.rollouts]) for r in g.rollouts] for g in groups])
    )
    for group in groups:
        mean = np.mean([one.reward for one in group.rollouts])
        by_rollout = []
        for one in group.rollouts:
            marks = torch.from_numpy(one.is_trainable)
            if not marks.any():
                continue
            policy_now = log_probs_of(policy, group, one, temperature)[marks]
            then = torch.from_numpy(one.behavior)[marks].to(policy_now.dtype)
            advantage = torch.full_like(policy_now, (one.reward - mean) / spread)
            all_one = torch.zeros(len(then), dtype=torch.int64)
            by_rollout.append(loss_of(loss)(policy_now, then, advantage, all_one).loss)
        by_prompt.append(by_rollout)
    match averaging:
        case "prompt":
            return torch.stack([torch.cat(one).mean() for one in by_prompt]).mean()
        case "sample":
            return torch.stack([torch.stack([each.mean() for each in one]).mean() for one in by_prompt]).mean()
        case "token":
            return torch.cat([each for one in by_prompt for each in one]).mean()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda one: one.kind)
@pytest.mark.parametrize("averaging", AVERAGINGS)
def test_loss_and_gradient_are_what_the_definition_says(averager, batch, loss, averaging):
    policy, groups = averager(torch.float64), batch(seed=4)
    found, gradient, _ = gradient_of(
        policy, groups, loss=loss, objective=Objective(averaging=averaging), max_tokens=40, temperature=0.7
    )
    expected = loss_by_definition(policy, groups, loss, averaging, temperature=0.7)
    for one in policy.trainable().values():
        one.grad = None
    expected.backward()
    by_definition = torch.cat([one.grad.flatten() for one in policy.trainable().values()])
    assert found == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
    torch.testing.assert_close(gradient, by_definition, rtol=1e-5, atol=1e-7)


@given(
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.sampled_from(LOSSES),
    st.sampled_from(AVERAGINGS),
    st.sampled_from(["batch", "prompt", "none"]),
    st.randoms(use_true_random=False),
)
def test_neither_split_nor_order_changes_the_gradient(
    averager, batch, seed, max_tokens, loss, averaging, scale, shuffling
):
    policy, groups = averager(seed=seed), batch(seed=seed)
    objective = Objective(averaging=averaging, advantage_scale=scale)
    whole, expected, seen = gradient_of(policy, groups, loss=loss, objective=objective)
    shuffled = list(groups)
    shuffling.shuffle(shuffled)
    split, gradient, seen_split = gradient_of(
        policy, shuffled, loss=loss, objective=objective, max_tokens=max_tokens
    )
    assert (gradient - expected).norm() <= 1e-6 * expected.norm() + 1e-9
    assert split == pytest.approx(whole, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(seen_split.log_ratio, seen.log_ratio, atol=2e-6)


@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_only_rounding(averager, batch, seed, shuffling):
    """Rows handed over in any order, not only groups: the weights travel with them."""
    policy, objective = averager(seed=seed), Objective()
    rows = list(rows_of(select(batch(seed=seed), objective), objective))
    gradients = []
    for _ in range(2):
        for one in policy.trainable().values():
            one.grad = None
        for one in micro_batches(rows, 30):
            backward(policy, one, loss_of(Cispo()), 1.0)
        gradients.append(torch.cat([one.grad.flatten() for one in policy.trainable().values()]))
        shuffling.shuffle(rows)
    assert (gradients[0] - gradients[1]).norm() <= 1e-6 * gradients[0].norm() + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=lambda one: one.kind)
def test_padding_and_splits_do_not_reach_a_transformer(tiny, batch, loss):
    policy, groups = tiny(), batch(seed=5, longest=14)
    _, whole, _ = gradient_of(policy, groups, loss=loss)
    for max_tokens in (1, 17, 60):
        _, split, _ = gradient_of(policy, groups, loss=loss, max_tokens=max_tokens)
        assert (split - whole).norm() <= 2e-6 * whole.norm()


def test_forced_tokens_carry_no_gradient_but_are_read(averager, rollout, group):
    """A forced word changes what follows; its own log-probability, whatever is noted for it, changes nothing."""
    marks = np.array([True, False, True])

    def gradient(word, noted):
        answers = [
            rollout([3, word, 5], 1.0, is_trainable=marks, behavior=np.float32([-2, noted, -2])),
            rollout([4], -1.0),
        ]
        return gradient_of(averager(), [group(0, answers)], loss=Cispo())[1]

    assert torch.equal(gradient(7, 0.0), gradient(7, -9.0))
    assert not torch.equal(gradient(7, 0.0), gradient(8, 0.0))


def test_what_was_seen_is_in_the_order_of_the_rows(averager, batch):
    policy, groups = averager(), batch(seed=6)
    _, _, whole = gradient_of(policy, groups, loss=Dapo())
    _, _, split = gradient_of(policy, groups, loss=Dapo(), max_tokens=12)
    expected = np.concatenate(
        [
            (log_probs_of(policy, group, one, 1.0).detach().numpy() - one.behavior)[one.is_trainable]
            for group in groups
            for one in group.rollouts
        ]
    )
    np.testing.assert_allclose(whole.log_ratio, expected, atol=1e-5)
    np.testing.assert_allclose(split.log_ratio, expected, atol=1e-5)
    assert np.array_equal(whole.is_high, split.is_high) and np.array_equal(whole.is_low, split.is_low)
    assert whole.is_high.any() and whole.is_low.any()
    assert np.all((whole.entropy > 0) & (whole.entropy <= np.log(11) + 1e-6))
