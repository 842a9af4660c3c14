"""Small batches of judged groups, and two small policies: a fake of ten lines and a tiny transformer."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.records import Group, Prompt, Rollout, Verdict

torch.set_num_threads(1)
NUM_WORDS = 11


class Averager:
    """The next word follows from the mean embedding of all words so far: causal, and nothing else."""

    def __init__(self, dtype: torch.dtype = torch.float32, seed: int = 0) -> None:
        draw = torch.Generator().manual_seed(seed)
        sizes = {"embedding": (NUM_WORDS, 6), "head": (NUM_WORDS, 6)}
        made = {name: torch.randn(size, generator=draw).to(dtype) for name, size in sizes.items()}
        self.module = torch.nn.ParameterDict(made)
        self.device = torch.device("cpu")

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        return dict(self.module.named_parameters())

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        words = self.module["embedding"][tokens]
        return torch.tanh(words.cumsum(1) / torch.arange(1, tokens.shape[1] + 1)[:, None] + words).to(words.dtype)

    def log_probs(
        self, hidden: torch.Tensor, targets: torch.Tensor, temperature: float
    ) -> tuple[torch.Tensor, ...]:
        every = (
            (hidden @ self.module["head"].T).to(torch.promote_types(hidden.dtype, torch.float32)) / temperature
        ).log_softmax(-1)
        return every.gather(-1, targets[:, None]).squeeze(-1), -(every.exp() * every).sum(-1).detach()

    def scored(
        self, tokens: torch.Tensor, source: torch.Tensor, target: torch.Tensor, temperature: float
    ) -> tuple[torch.Tensor, ...]:
        return self.log_probs(self.hidden(tokens).flatten(0, 1)[source], target, temperature)

    def gradient_checkpointing(self, is_on: bool) -> None:
        raise AssertionError("nothing to recompute here")


def transformer(dtype: torch.dtype = torch.float32, seed: int = 0) -> Policy:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=NUM_WORDS,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        tie_word_embeddings=True,
        attn_implementation=NAME,
    )
    return Policy(Qwen3ForCausalLM(config).to(dtype))


def rollout_of(tokens: Sequence[int], reward: float, **changes: object) -> Rollout:
    size = len(tokens)
    facts = {
        "tokens": np.array(tokens, np.int32),
        "behavior": np.full(size, -2.0, np.float32),
        "versions": np.zeros(size, np.int32),
        "is_trainable": np.ones(size, np.bool_),
        "ending": "stopped",
        "is_interrupted": False,
        "verdict": Verdict(score=(reward + 1) / 2, passed=reward == 1),
        "reward": reward,
    }
    return Rollout(**(facts | changes))


def group_of(admission: int, rollouts: Sequence[Rollout], prompt_tokens: Sequence[int] = (1, 2)) -> Group:
    return Group(
        prompt=Prompt(id=f"chain/{admission}", task="chain", text="", answer=0),
        prompt_tokens=np.array(prompt_tokens, np.int32),
        rollouts=tuple(rollouts),
        admission=admission,
        admitted_version=0,
    )


def batch_of(seed: int = 0, num_groups: int = 4, num_samples: int = 4, longest: int = 9) -> list[Group]:
    """Groups with answers of many lengths, forced tokens inside, stale versions, and rewards that differ."""
    draw = np.random.default_rng(seed)

    def answer(reward: float) -> Rollout:
        size = int(draw.integers(1, longest + 1))
        is_trainable = draw.random(size) > 0.2
        behavior = np.where(is_trainable, draw.normal(-2.4, 0.4, size).clip(None, 0), 0).astype(np.float32)
        versions = np.sort(draw.integers(3, 8, size)).astype(np.int32)
        words = draw.integers(0, NUM_WORDS, size)
        return rollout_of(words, reward, behavior=behavior, versions=versions, is_trainable=is_trainable)

    return [
        group_of(
            index,
            [answer(1.0 if sample == 0 else float(draw.choice([-1.0, 1.0]))) for sample in range(num_samples - 1)]
            + [answer(-1.0)],
            draw.integers(0, NUM_WORDS, int(draw.integers(1, 5))),
        )
        for index in range(num_groups)
    ]


@pytest.fixture(scope="session")
def rollout() -> Callable[..., Rollout]:
    return rollout_of


@pytest.fixture(scope="session")
def group() -> Callable[..., Group]:
    return group_of


@pytest.fixture(scope="session")
def batch() -> Callable[..., list[Group]]:
    return batch_of


@pytest.fixture(scope="session")
def averager() -> type[Averager]:
    return Averager


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Policy]:
    return transformer
