"""Two ranks of tensor parallelism, tied: exact before and after new weights, and the checksum knows both."""

import numpy as np
import pytest
from small_models import log_probs, made, numbers, saved, started

from scalerl.rollout.limits import Limits

PROMPT = numbers(7, 8, 9)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [saved(made("tied qwen3", seed), folder / str(seed)) for seed in (0, 1)]


@pytest.fixture(scope="module")
def engine(run, files):
    one = started(run, files[0].parent, Limits(answer=60, stops=()), tensor_parallel=2, max_sequences=4)
    yield one
    run(one.close())


def test_new_weights_reach_both_ranks(run, engine, files):
    sums = [run(engine.checksum())]
    for version, at in enumerate((0, 1, 0)):
        if version:
            run(engine.take_up(version, files[at], timeout=30))
            sums.append(run(engine.checksum()))
        rollout = run(engine.answer(PROMPT, version, 1.0))
        worst = np.abs(log_probs(made("tied qwen3", at), PROMPT, rollout.tokens) - rollout.behavior).max()
        print(f"largest error {worst:.1e}")
        assert worst < 1e-5 and (rollout.versions == version).all()
    assert sums[0] == sums[2] != sums[1] and len(sums[0].split("-")) == 2
