"""Small judged groups, and one thread: the tests of the objective are arithmetic."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from scalerl.records import Group, Prompt, Rollout, Verdict

torch.set_num_threads(1)


def rollout_of(reward: float, *, num_tokens: int = 3, ending: str = "stopped", error: str = "") -> Rollout:
    return Rollout(
        tokens=np.arange(num_tokens, dtype=np.int32),
        behavior=np.full(num_tokens, -1.0, np.float32),
        versions=np.zeros(num_tokens, np.int32),
        is_trainable=np.ones(num_tokens, np.bool_),
        ending=ending,
        is_interrupted=False,
        verdict=Verdict(score=(reward + 1) / 2, passed=reward == 1, error=error),
        reward=float("nan") if error else reward,
    )


def group_of(admission: int, rollouts: Sequence[Rollout], prompt: str = "chain/1") -> Group:
    return Group(
        prompt=Prompt(id=prompt, task="chain", text="", answer=0),
        prompt_tokens=np.array([1, 2], np.int32),
        rollouts=tuple(rollouts),
        admission=admission,
        admitted_version=0,
    )


@pytest.fixture(scope="session")
def rollout() -> Callable[..., Rollout]:
    return rollout_of


@pytest.fixture(scope="session")
def group() -> Callable[..., Group]:
    return group_of
