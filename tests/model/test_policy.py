"""The shared policy against transformers' own forward pass."""

import pytest
import torch
from tiny_models import SHAPES, llama, policy, qwen3
from torch.utils._python_dispatch import TorchDispatchMode

from scalerl.model.policy import Policy
from scalerl.model.size import bytes_per_cached_token, is_mixture, num_active_parameters, num_parameters


def eager(kind):
    """The same weights with the library's plain attention."""
    model = SHAPES[kind]()
    model.set_attn_implementation("eager")
    return model


@pytest.fixture
def tokens():
    return torch.randint(0, 40, (3, 11), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", SHAPES)
def test_log_probabilities_and_entropy_are_those_of_the_librarys_own_logits(kind, tokens):
    ours = policy(kind, chunk_tokens=7)
    found, entropy = ours.log_probs(ours.hidden(tokens).flatten(0, 1), tokens.flatten(), 0.7)
    expected = torch.log_softmax(eager(kind)(tokens).logits.flatten(0, 1) / 0.7, -1)
    assert torch.allclose(found, expected.gather(1, tokens.flatten()[:, None])[:, 0], atol=2e-5)
    assert torch.allclose(entropy, -(expected.exp() * expected).sum(-1), atol=2e-5)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("chunk", [5, 1_000])
def test_gradients_of_every_parameter_are_those_of_autograd(kind, chunk, tokens):
    ours, rival = policy(kind, chunk_tokens=chunk), eager(kind)
    slope = torch.linspace(-1, 1, tokens.numel())
    (ours.log_probs(ours.hidden(tokens).flatten(0, 1), tokens.flatten(), 0.7)[0] * slope).sum().backward()
    logits = torch.log_softmax(rival(tokens).logits.flatten(0, 1) / 0.7, -1)
    (logits.gather(1, tokens.flatten()[:, None])[:, 0] * slope).sum().backward()
    for (name, mine), theirs in zip(ours.module.named_parameters(), rival.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-4 * (1 + float(theirs.grad.abs().max()))), name


def test_padding_on_the_right_changes_no_earlier_position(tokens):
    ours = policy()
    padded = torch.cat([tokens, torch.zeros(3, 5, dtype=torch.long)], 1)
    assert torch.allclose(ours.hidden(padded)[:, :11], ours.hidden(tokens), atol=1e-5)


class WidestLogits(TorchDispatchMode):
    """The most rows of any tensor as wide as the vocabulary, the head itself left out."""

    def __init__(self, words, width):
        super().__init__()
        self.words, self.width, self.most = words, width, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(one, torch.Tensor) and self.words in one.shape and one.numel() != self.words * self.width:
                self.most = max(self.most, one.numel() // self.words)
        return found


def test_never_more_logits_than_one_chunk_forward_or_backward():
    model = llama(vocab_size=152_000, hidden_size=16, head_dim=4, num_hidden_layers=1)
    ours = Policy(model, chunk_tokens=8)
    tokens = torch.randint(0, 152_000, (4, 20))
    with WidestLogits(152_000, 16) as seen:
        ours.log_probs(ours.hidden(tokens).flatten(0, 1), tokens.flatten(), 1.0)[0].sum().backward()
    assert seen.most == 8


def test_a_float32_head_is_nearer_the_truth_than_a_cast_after_the_product(tokens):
    exact = policy().log_probs(policy().hidden(tokens).flatten(0, 1), tokens.flatten(), 1.0)[0]
    hidden = policy().hidden(tokens).flatten(0, 1).bfloat16()
    half = qwen3().bfloat16()
    errors = []
    for is_fp32 in (True, False):
        ours = Policy(half, is_fp32_head=is_fp32)
        errors.append((ours.log_probs(hidden, tokens.flatten(), 1.0)[0] - exact).square().mean().sqrt().item())
    assert errors[0] < errors[1]


def test_gradient_checkpointing_changes_no_gradient(tokens):
    found = []
    for is_on in (False, True):
        ours = policy()
        ours.gradient_checkpointing(is_on)
        ours.log_probs(ours.hidden(tokens).flatten(0, 1), tokens.flatten(), 1.0)[0].sum().backward()
        found.append([one.grad.clone() for one in ours.trainable().values()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_sizes_worked_out_by_hand():
    dense = policy("llama")
    layer = 32 * 32 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 48 + 2 * 32
    assert num_parameters(dense) == 2 * 40 * 32 + 2 * layer + 32 == num_active_parameters(dense)
    assert bytes_per_cached_token(dense) == 2 * 2 * 2 * 8 * 4
    mixed = policy("experts")
    expert = 3 * 32 * 16
    assert is_mixture(mixed) and not is_mixture(dense)
    assert num_parameters(mixed) - num_active_parameters(mixed) == 2 * 2 * expert  # two layers, two experts unused
    tied = policy("qwen3")
    assert sum(name.endswith("lm_head.weight") for name in tied.trainable()) == 0
