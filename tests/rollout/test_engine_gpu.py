"""The engine on a GPU: graphs, agreement with the trainer, resume by prefilling again."""

import numpy as np
import pytest
import torch
from test_engine import LIMITS, answers, log_probs, requests
from tiny_models import SHAPES

from scalerl.model.policy import Policy
from scalerl.rollout.engine import Engine

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def policy(kind, dtype):
    return Policy(SHAPES[kind]().to("cuda", dtype))


def engine(ours, **options):
    return Engine(ours, LIMITS, slots=6, longest_prompt=12, temperature=1.0, **options)


@pytest.mark.parametrize("kind", ["qwen3", "llama"])
def test_a_graph_samples_what_the_plain_step_samples(kind):
    ours, asked = policy(kind, torch.bfloat16), requests(10)
    plain, graph = answers(engine(ours), asked), answers(engine(ours, use_graphs=True), asked)
    assert all(np.array_equal(plain[key].tokens, graph[key].tokens) for key in plain)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize(("dtype", "most"), [(torch.float32, 1e-4), (torch.bfloat16, 0.05)])
def test_stamped_log_probabilities_are_the_trainers(kind, dtype, most):
    ours, asked = policy(kind, dtype), requests(8)
    found = answers(engine(ours), asked)
    on_host = Policy(SHAPES[kind]().to(dtype))
    errors = [
        (log_probs(on_host, one.prompt, found[one.key]) - found[one.key].behavior)[found[one.key].is_trainable]
        for one in asked
    ]
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < most


def test_weights_written_in_place_are_read_by_the_captured_graph():
    ours, asked = policy("llama", torch.bfloat16), requests(10)
    one = engine(ours, use_graphs=True)
    before = answers(one, asked)
    with torch.no_grad():
        for weights in ours.trainable().values():
            weights.mul_(1.3)
    one.take_up(1)
    after = answers(one, asked)
    assert any(not np.array_equal(before[key].tokens, after[key].tokens) for key in before)
    assert all((rollout.versions == 1).all() for rollout in after.values())


def test_a_state_prefills_again():
    ours, asked = policy("qwen3", torch.float32), requests(6)
    whole = answers(engine(ours), asked)
    first = engine(ours)
    first.submit(asked)
    found = {done.request.key: done.rollout for done in first.step()}
    second = engine(ours)
    second.restore(*first.state())
    while not second.is_idle:
        found |= {done.request.key: done.rollout for done in second.step()}
    same = [np.array_equal(found[key].tokens, whole[key].tokens) for key in whole]
    assert np.mean(same) > 0.9
