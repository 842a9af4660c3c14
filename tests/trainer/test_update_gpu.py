"""The same update on a GPU: float32 agrees with the CPU, bfloat16 moves its masters and can be resumed."""

from dataclasses import replace

import pytest
import torch

from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Optimizer
from scalerl.trainer.step import Trainer

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
RECIPE = Recipe(optimizer=Optimizer(rate=1e-3, warmup_steps=0, micro_batch_tokens=40))


def on_gpu(policy):
    policy.module.to("cuda")
    return policy


def test_an_update_in_float32_agrees_with_the_cpu(tiny, batch):
    here, there = tiny(), on_gpu(tiny())
    one, other = Trainer(here, RECIPE).update(batch(seed=1), 9), Trainer(there, RECIPE).update(batch(seed=1), 9)
    assert other.grad_norm == pytest.approx(one.grad_norm, rel=1e-3)
    assert other.loss == pytest.approx(one.loss, rel=1e-3, abs=1e-4)
    assert abs(other.log_ratio - one.log_ratio).max() < 1e-3
    assert other.peak_bytes < one.peak_bytes, "the memory of the GPU, not of the process"


@pytest.mark.parametrize("is_recomputed", [False, True])
def test_bfloat16_moves_its_masters_and_resumes(tiny, batch, is_recomputed):
    knobs = replace(RECIPE.optimizer, rate=5e-7, gradient_checkpointing=is_recomputed)
    recipe = replace(RECIPE, optimizer=knobs)
    policy, again = on_gpu(tiny(torch.bfloat16)), on_gpu(tiny(torch.bfloat16, seed=1))
    trainer = Trainer(policy, recipe)
    before = {name: one.clone() for name, one in trainer.state().items()}
    trainer.update(batch(seed=1), 9)
    state = {name: one.cpu() for name, one in trainer.state().items()}
    assert all((state[name] - one.cpu()).abs().max() > 1e-7 for name, one in before.items() if "master." in name)
    resumed = Trainer(again, recipe)
    resumed.restore(state)
    assert all(torch.equal(one.cpu(), state[name]) for name, one in resumed.state().items())
    one, other = trainer.update(batch(seed=2), 9), resumed.update(batch(seed=2), 9)
    assert other.grad_norm == pytest.approx(one.grad_norm, rel=1e-2)
