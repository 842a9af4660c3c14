import pytest
import torch

from scalerl.errors import InputError
from scalerl.recipe import sections
from scalerl.trainer.optimizer import Optimizer

PLAIN = {"warmup_steps": 0, "weight_decay": 0.0}


def weight_of(values, dtype=torch.float32):
    return torch.nn.Parameter(torch.tensor(values, dtype=dtype))


def moved(weight, gradient, optimizer):
    weight.grad = torch.tensor(gradient, dtype=weight.dtype)
    optimizer.accumulate()
    norm = float(optimizer.gradient_norm())
    return optimizer.step(norm)


def test_the_rate_rises_linearly_and_then_stays():
    weight = weight_of([1.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=8e-3, warmup_steps=4))
    rates = []
    for _ in range(6):
        rates.append(optimizer.rate)
        moved(weight, [0.5], optimizer)
    assert rates == pytest.approx([2e-3, 4e-3, 6e-3, 8e-3, 8e-3, 8e-3])
    assert Optimizer({"w": weight}, sections.Optimizer(rate=1e-3, warmup_steps=0)).rate == 1e-3


def test_two_steps_of_adamw_by_hand():
    """With betas 0.9 and 0.95 after gradients 0.5 and -0.25, the corrections for the empty start written out."""
    weight = weight_of([1.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=0.1, warmup_steps=0, weight_decay=0.01))
    moved(weight, [0.5], optimizer)
    first = 1.0 * (1 - 0.1 * 0.01) - 0.1 * 1.0  # the first step is the rate itself, towards the sign
    assert weight.item() == pytest.approx(first, rel=1e-6)
    moved(weight, [-0.25], optimizer)
    mean = (0.9 * 0.1 * 0.5 + 0.1 * -0.25) / (1 - 0.9**2)
    square = (0.95 * 0.05 * 0.25 + 0.05 * 0.0625) / (1 - 0.95**2)
    assert weight.item() == pytest.approx(first * 0.999 - 0.1 * mean / square**0.5, rel=1e-6)


def test_weight_decay_is_decoupled_from_the_gradient():
    weight = weight_of([2.0, -4.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=0.1, warmup_steps=2, weight_decay=0.5))
    moved(weight, [0.0, 0.0], optimizer)
    torch.testing.assert_close(weight.data, torch.tensor([2.0, -4.0]) * (1 - 0.05 * 0.5))


def test_a_small_epsilon_lets_small_gradients_step():
    """Gradients of 1e-12 move by the whole rate; under the usual epsilon of 1e-8 they would hardly move."""
    weight = weight_of([0.0])
    moved(weight, [1e-12], Optimizer({"w": weight}, sections.Optimizer(rate=1e-3, **PLAIN)))
    assert weight.item() == pytest.approx(-1e-3, rel=2e-3)


def test_the_norm_runs_over_all_weights_and_is_clipped_to_its_bound():
    one, other = weight_of([0.0]), weight_of([0.0, 0.0])
    optimizer = Optimizer({"one": one, "other": other}, sections.Optimizer(max_norm=2.5, **PLAIN))
    one.grad, other.grad = torch.tensor([3.0]), torch.tensor([0.0, 4.0])
    assert float(optimizer.gradient_norm()) == pytest.approx(5)
    assert optimizer.step(5.0)
    moments = optimizer.state()
    torch.testing.assert_close(moments["exp_avg.one"], torch.tensor([0.15]))  # (1 - 0.9) x 3 x 2.5 / 5
    torch.testing.assert_close(moments["exp_avg.other"], torch.tensor([0.0, 0.2]))
    assert one.grad is None and other.grad is None


def test_a_norm_at_the_bound_is_left_alone():
    weight = weight_of([0.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(max_norm=3.0, **PLAIN))
    assert not moved(weight, [3.0], optimizer)
    torch.testing.assert_close(optimizer.state()["exp_avg.w"], torch.tensor([0.3]))


def test_a_weight_without_gradient_is_left_alone():
    used, unused = weight_of([1.0]), weight_of([1.0])
    optimizer = Optimizer({"used": used, "unused": unused}, sections.Optimizer(rate=0.1, warmup_steps=0))
    moved(used, [1.0], optimizer)
    assert unused.item() == 1 and used.item() != 1
    assert "step.unused" not in optimizer.state()


def test_bfloat16_weights_move_through_their_masters():
    """5e-7 is far below what bfloat16 can add to 1; 20,000 such steps are not."""
    weight = weight_of([1.0, 0.02], torch.bfloat16)
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=5e-7, **PLAIN))
    moved(weight, [1.0, -1.0], optimizer)
    master = optimizer.state()["master.w"]
    start = torch.tensor([1.0, 0.02], dtype=torch.bfloat16).float()
    torch.testing.assert_close(master - start, torch.tensor([-5e-7, 5e-7]), rtol=0.2, atol=0)
    assert torch.equal(weight.float(), start), "the published weight has not moved yet"
    master[0] -= 0.01
    moved(weight, [1.0, -1.0], optimizer)
    assert weight[0].item() == torch.tensor(0.99).bfloat16().item()


def test_gradients_of_micro_batches_add_up_in_float32():
    """In bfloat16 a hundred times 0.001 added to 1 is still 1."""
    weight = weight_of([0.0], torch.bfloat16)
    optimizer = Optimizer({"w": weight}, sections.Optimizer(**PLAIN))
    small = torch.tensor([0.001], dtype=torch.bfloat16)
    for gradient in (torch.ones(1, dtype=torch.bfloat16), *[small] * 100):
        weight.grad = gradient.clone()
        optimizer.accumulate()
    assert float(optimizer.gradient_norm()) == pytest.approx(1 + 100 * small.item(), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_resumed_optimizer_goes_on_bit_for_bit(dtype):
    draw = torch.Generator().manual_seed(0)
    start, gradients = torch.randn(50, generator=draw), torch.randn(12, 50, generator=draw) * 1e-3

    def fresh(values):
        weight = torch.nn.Parameter(values.to(dtype))
        return weight, Optimizer({"w": weight}, sections.Optimizer(rate=1e-3, warmup_steps=9))

    def run(weight, optimizer, rows):
        for gradient in rows:
            moved(weight, gradient.tolist(), optimizer)

    weight, optimizer = fresh(start)
    run(weight, optimizer, gradients[:7])
    kept = {name: one.clone() for name, one in optimizer.state().items()}
    again, resumed = fresh(torch.zeros(50))
    resumed.restore(kept)
    assert torch.equal(again, weight) and resumed.num_calls == 7 and resumed.rate == optimizer.rate
    run(weight, optimizer, gradients[7:])
    run(again, resumed, gradients[7:])
    assert torch.equal(again, weight)
    states = optimizer.state(), resumed.state()
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_a_restored_optimizer_does_not_share_memory_with_the_state():
    weight = weight_of([1.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=0.1, **PLAIN))
    moved(weight, [1.0], optimizer)
    kept = {name: one.clone() for name, one in optimizer.state().items()}
    before = {name: one.clone() for name, one in kept.items()}
    optimizer.restore(kept)
    moved(weight, [1.0], optimizer)
    assert all(torch.equal(kept[name], before[name]) for name in kept)


def test_hyperparameters_come_from_the_recipe_and_not_from_the_state():
    weight = weight_of([1.0])
    optimizer = Optimizer({"w": weight}, sections.Optimizer(rate=0.5, **PLAIN))
    moved(weight, [1.0], optimizer)
    other = Optimizer({"w": weight_of([1.0])}, sections.Optimizer(rate=0.25, **PLAIN))
    other.restore(optimizer.state())
    assert other.rate == 0.25 and other.num_calls == 1


@pytest.mark.parametrize("strange", [{"v": [1.0]}, {"w": [1.0], "v": [1.0]}, {"w": [1.0, 2.0]}])
def test_the_state_of_another_model_is_refused(strange):
    state = Optimizer({name: weight_of(one) for name, one in strange.items()}, sections.Optimizer()).state()
    with pytest.raises(InputError, match=r"belongs to another model: [vw]"):
        Optimizer({"w": weight_of([1.0])}, sections.Optimizer()).restore(state)
