"""A tied body in bfloat16 under either head: as close as two sets of kernels get, also after new weights."""

import numpy as np
import pytest
import torch
from small_models import log_probs, made, numbers, saved, started

from scalerl.rollout.limits import Limits

PROMPT = numbers(7, 8, 9)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [saved(made("tied qwen3", seed).bfloat16(), folder / str(seed)) for seed in (0, 1)]


@pytest.fixture(scope="module", params=[True, False])
def is_fp32_head(request):
    return request.param


@pytest.fixture(scope="module")
def engine(run, files, is_fp32_head):
    limits = Limits(answer=60, stops=())
    one = started(run, files[0].parent, limits, dtype="bfloat16", is_fp32_head=is_fp32_head)
    yield one
    run(one.close())


def test_log_probabilities_before_and_after_new_weights(run, engine, files):
    rounded = [made("tied qwen3", seed).bfloat16().float() for seed in (0, 1)]
    sums = []
    for version in (0, 1):
        if version:
            run(engine.take_up(version, files[version], timeout=30))
        rollout = run(engine.answer(PROMPT, version, 1.0))
        errors = np.abs(log_probs(rounded[version], PROMPT, rollout.tokens) - rollout.behavior)
        print(f"mean error {errors.mean():.1e}, largest {errors.max():.1e}")
        assert errors.mean() < 0.03
        assert np.abs(log_probs(rounded[1 - version], PROMPT, rollout.tokens) - rollout.behavior).mean() > 0.3
        sums.append(run(engine.checksum()))
    assert sums[0] != sums[1]


def test_the_head_computes_in_the_precision_it_was_given(run, engine, is_fp32_head):
    """Log-probabilities of one place are its logits up to a constant: does any make all of them bfloat16?"""
    engine._limits = Limits(answer=1, stops=())
    found = {}
    for seed in range(60):
        one = run(engine.answer(PROMPT, seed, 1.0))
        found[int(one.tokens[0])] = float(one.behavior[0])
    with torch.no_grad():
        logits = made("tied qwen3", 1).bfloat16().float()(torch.tensor([PROMPT.tolist()])).logits[0, -1]
    places = torch.tensor(list(found))
    said = torch.tensor(list(found.values()), dtype=torch.float64)
    assert len(places) > 10
    coarsest = logits[places].abs().argmax()
    steps = torch.arange(-40, 41, dtype=torch.float64) * 2.0 ** (logits[places][coarsest].abs().log2().floor() - 7)
    constants = (logits[places][coarsest].bfloat16().double() + steps) - said[coarsest]
    moved = said[None] + constants[:, None]
    is_coarse = ((moved - moved.bfloat16().double()).abs() < 2e-6).all(1).any()
    assert bool(is_coarse) == (not is_fp32_head)
