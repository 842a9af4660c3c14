from dataclasses import replace

import numpy as np
import pytest
import torch

from scalerl.recipe.losses import Cispo, Dapo, Grpo, Gspo, Reinforce
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Objective, Optimizer
from scalerl.trainer.finite import NonFiniteError
from scalerl.trainer.step import Trainer

FAST = Recipe(optimizer=Optimizer(rate=1e-2, warmup_steps=2, micro_batch_tokens=40))


def weights_of(policy):
    return {name: one.detach().clone() for name, one in policy.trainable().items()}


def is_equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_report_says_what_was_done(averager, batch):
    groups = batch(seed=1)
    trainer = Trainer(averager(), FAST)
    found = trainer.update(groups, version=9)
    rollouts = [one for group in groups for one in group.rollouts]
    marks = np.concatenate([one.is_trainable for one in rollouts])
    assert found.has_stepped and trainer.num_calls == 1
    assert found.rate == 0.5e-2
    assert found.num_trained == marks.sum() == len(found.log_ratio) == len(found.entropy) == len(found.is_low)
    assert np.array_equal(found.lag, 9 - np.concatenate([one.versions for one in rollouts])[marks])
    rows = [(group, one) for group in groups for one in group.rollouts if one.is_trainable.any()]
    assert found.num_rows == len(rows)
    assert found.num_tokens == sum(len(group.prompt_tokens) + len(one.tokens) for group, one in rows)
    assert found.grad_norm > 0 and found.was_clipped == (found.grad_norm > 1)
    assert found.selection.num_surviving == len(groups)
    assert found.peak_bytes > 10**6
    assert trainer.update(groups, version=9).rate == 1e-2


def test_a_step_of_flat_groups_moves_nothing(averager, rollout, group):
    policy = averager()
    trainer, before = Trainer(policy, FAST), weights_of(policy)
    for objective in (Objective(), Objective(zero_variance="keep")):
        trainer = Trainer(policy, replace(FAST, objective=objective))
        found = trainer.update([group(0, [rollout([3], 1.0)] * 2), group(1, [rollout([4], -1.0)] * 2)], 0)
        assert not found.has_stepped and found.selection.is_flat and trainer.num_calls == 0
        assert (found.rate, found.num_trained, len(found.lag)) == (0, 0, 0)
    assert is_equal(weights_of(policy), before)


def test_groups_without_any_trainable_token_move_nothing(averager, rollout, group):
    policy = averager()
    before = weights_of(policy)
    mute = {"is_trainable": np.zeros(1, bool)}
    found = Trainer(policy, FAST).update([group(0, [rollout([3], 1.0, **mute), rollout([4], -1.0, **mute)])], 0)
    assert not found.has_stepped and is_equal(weights_of(policy), before)


def test_kept_flat_groups_make_a_step_smaller(averager, rollout, group):
    """Beside one mixed prompt, one flat prompt halves every weight; the batch scale grows by the root of two."""
    groups = [group(0, [rollout([3], 1.0), rollout([4], -1.0)]), group(1, [rollout([5], 1.0)] * 2)]
    norms = {
        kind: Trainer(averager(), replace(FAST, objective=Objective(zero_variance=kind)))
        .update(groups, 0)
        .grad_norm
        for kind in ("drop", "keep")
    }
    assert norms["keep"] / norms["drop"] == pytest.approx(2**0.5 / 2, rel=1e-5)


def poisoned(policy):
    with torch.no_grad():
        next(iter(policy.trainable().values()))[3] = float("nan")
    return policy


def test_a_loss_that_is_no_number_stops_before_any_weight_moves(averager, batch):
    policy = averager()
    trainer = Trainer(policy, FAST)
    trainer.update(batch(seed=1), 9)
    good = {name: one.clone() for name, one in trainer.state().items()}
    poisoned(policy)
    before = weights_of(policy)
    with pytest.raises(
        NonFiniteError, match=r"the loss of the update at version 9 is nan: \d+ of \d+ trained tokens"
    ):
        trainer.update(batch(seed=2), 9)
    after = weights_of(policy)
    assert all(torch.equal(before[name].nan_to_num(7), after[name].nan_to_num(7)) for name in before)
    assert trainer.num_calls == 1
    trainer.restore(good)
    assert trainer.update(batch(seed=2), 9).has_stepped, "weights and optimizer remain usable"


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e30])
def test_a_gradient_that_is_not_finite_stops_as_well(averager, batch, value):
    """The loss is finite; the norm of its gradient is not, or its squares overflow."""
    policy = averager()
    before, spoil = weights_of(policy), policy.module["head"].register_hook(lambda gradient: gradient * value)
    trainer = Trainer(policy, FAST)
    with pytest.raises(
        NonFiniteError, match=r"gradient norm .* version 9 is (inf|nan): 0 of \d+ .* Weights and opt"
    ):
        trainer.update(batch(seed=1), 9)
    assert is_equal(weights_of(policy), before) and trainer.num_calls == 0
    assert all(one.grad is None for one in policy.trainable().values())
    spoil.remove()
    assert trainer.update(batch(seed=1), 9).has_stepped


def test_a_token_from_the_future_is_our_mistake_and_moves_nothing(averager, batch):
    policy = averager()
    before = weights_of(policy)
    with pytest.raises(AssertionError, match="sampled from version 7, which is later than 5"):
        Trainer(policy, FAST).update(batch(seed=1), version=5)
    assert is_equal(weights_of(policy), before)


def test_updates_do_not_depend_on_the_order_of_groups(averager, batch):
    one, other = averager(), averager()
    Trainer(one, FAST).update(batch(seed=3), 9)
    Trainer(other, FAST).update(batch(seed=3)[::-1], 9)
    assert is_equal(weights_of(one), weights_of(other)), "bit for bit: sums go by admission"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_resumed_trainer_goes_on_bit_for_bit(tiny, batch, dtype):
    policy, resumed = tiny(dtype), tiny(dtype, seed=1)
    trainer = Trainer(policy, FAST)
    for seed in range(3):
        trainer.update(batch(seed=seed), 9)
    other = Trainer(resumed, FAST)
    other.restore({name: one.clone() for name, one in trainer.state().items()})
    assert is_equal(weights_of(policy), weights_of(resumed))
    for seed in range(3, 5):
        one, two = trainer.update(batch(seed=seed), 9), other.update(batch(seed=seed), 9)
        assert (one.loss, one.grad_norm, one.rate) == (two.loss, two.grad_norm, two.rate)
    assert is_equal(weights_of(policy), weights_of(resumed))


def test_gradient_checkpointing_changes_nothing(tiny, batch):
    plain, recomputing = tiny(), tiny()
    knobs = replace(FAST.optimizer, gradient_checkpointing=True)
    for seed in range(2):
        one = Trainer(plain, FAST).update(batch(seed=seed), 9)
        other = Trainer(recomputing, replace(FAST, optimizer=knobs)).update(batch(seed=seed), 9)
        assert (one.loss, one.grad_norm) == (other.loss, other.grad_norm)
    assert is_equal(weights_of(plain), weights_of(recomputing))
    assert not recomputing.module.training, "the engine finds the module as it left it"


def test_checkpointing_is_off_again_after_a_failure(tiny, batch):
    policy = poisoned(tiny())
    knobs = replace(FAST.optimizer, gradient_checkpointing=True)
    with pytest.raises(NonFiniteError):
        Trainer(policy, replace(FAST, optimizer=knobs)).update(batch(seed=1), 9)
    assert not policy.module.training


def test_a_bfloat16_model_moves_its_masters_at_the_papers_rate(tiny, batch):
    policy = tiny(torch.bfloat16)
    trainer = Trainer(policy, Recipe(optimizer=Optimizer(rate=5e-7, warmup_steps=0)))
    before = {name: one.clone() for name, one in trainer.state().items()}
    published = weights_of(policy)
    for seed in range(3):
        assert trainer.update(batch(seed=seed), 9).has_stepped
    after = trainer.state()
    for name, start in before.items():
        if name.startswith("master."):
            step = (after[name] - start).abs()
            assert 1e-7 < step.max() < 3e-6, name
    still = [torch.equal(one, published[name]) for name, one in policy.trainable().items()]
    assert any(still), "bfloat16 alone would have lost these steps"


def test_a_bfloat16_gradient_is_summed_once_over_micro_batches(tiny, batch):
    """To the precision of bfloat16; counting earlier micro-batches again would make it several times larger."""
    norms = [
        Trainer(tiny(torch.bfloat16), Recipe(optimizer=Optimizer(micro_batch_tokens=size)))
        .update(batch(), 9)
        .grad_norm
        for size in (10_000, 20, 1)
    ]
    assert norms[1:] == pytest.approx([norms[0]] * 2, rel=0.03)


@pytest.mark.parametrize(
    "loss", [Cispo(), Dapo(), Grpo(), Gspo(clip_low=0.1, clip_high=0.15), Reinforce()], ids=lambda one: one.kind
)
def test_a_policy_learns_the_one_right_word(averager, rollout, group, loss):
    """From about one in eleven to nearly always, on its own samples, two updates a phase."""
    policy, draw = averager(), torch.Generator().manual_seed(1)
    trainer = Trainer(policy, replace(FAST, loss=loss, optimizer=Optimizer(rate=5e-2, warmup_steps=0)))
    prompt = torch.tensor([[1, 2]])

    def every():
        with torch.no_grad():
            hidden = policy.hidden(prompt)[0, -1:].expand(11, -1)
            return policy.log_probs(hidden, torch.arange(11), 1.0)[0]

    start = every()[3].exp()
    for phase in range(25):
        noted = every()
        for step in range(2):
            words = noted.exp().multinomial(32, replacement=True, generator=draw).tolist()
            answers = [
                rollout([word], 1.0 if word == 3 else -1.0, behavior=noted[[word]].numpy()) for word in words
            ]
            trainer.update([group(2 * phase + step, answers)], version=phase)
    assert start < 0.3 and every()[3].exp() > 0.9
