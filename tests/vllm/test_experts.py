"""A mixture of experts, of a width that vLLM pads: exact before and after new weights."""

import numpy as np
import pytest
from small_models import log_probs, made, numbers, saved, started

from scalerl.rollout.limits import Limits

PROMPT = numbers(7, 8, 9)


@pytest.fixture(scope="module")
def models():
    return [made("experts", seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def files(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("experts")
    return [saved(one, folder / str(i)) for i, one in enumerate(models)]


@pytest.fixture(scope="module")
def engine(run, files):
    one = started(run, files[0].parent, Limits(answer=60, stops=()))
    yield one
    run(one.close())


def test_new_weights_reach_every_expert(run, engine, models, files):
    sums = [run(engine.checksum())]
    for version, at in enumerate((0, 1, 0)):
        if version:
            run(engine.take_up(version, files[at], timeout=30))
            sums.append(run(engine.checksum()))
        rollout = run(engine.answer(PROMPT, version, 1.0))
        worst = np.abs(log_probs(models[at], PROMPT, rollout.tokens) - rollout.behavior).max()
        print(f"largest error {worst:.1e}")
        assert worst < 1e-5
    assert sums[0] == sums[2] != sums[1]
