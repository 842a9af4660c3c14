"""Ranks that hold shards do what one process does: the same gradient, step, report, stop and checkpoint."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tiny_models import experts
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

from scalerl.errors import InputError
from scalerl.model.policy import Policy
from scalerl.objective.loss import loss_of
from scalerl.objective.selection import select
from scalerl.recipe.losses import Cispo, Dapo, Gspo, Reinforce
from scalerl.recipe.sections import Objective
from scalerl.trainer.batch import micro_batches, rows_of
from scalerl.trainer.gradient import backward
from scalerl.trainer.ranks import ALONE, Ranks
from scalerl.trainer.sharded_checkpoint import load, save
from scalerl.trainer.sharding import ShardedPolicy, shard
from scalerl.trainer.step import Trainer

SCRIPT = Path(__file__).with_name("sharded_ranks.py")
COUNTS = (1, 2, 4)
pytestmark = pytest.mark.filterwarnings(
    "ignore:torch.distributed is disabled"
)  # one process reads what ranks wrote


def _loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


RANKS = _loaded(SCRIPT)
UPDATES = {f"{kind}-{how}": (kind, recipe) for kind, recipe, how in RANKS.UPDATES}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What one, two and four ranks found, in files; the tests below compare."""
    out = tmp_path_factory.mktemp("ranks")
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), str(out)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True, text=True, timeout=3 * RANKS.SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:]
    return out


def alone(kind, recipe=RANKS.RECIPE):
    policy = RANKS.made(kind)
    return policy, Trainer(policy, recipe)


def read(folder, kind, recipe=RANKS.RECIPE):
    """What ranks wrote, taken up by one process."""
    policy, trainer = alone(kind, recipe)
    load(trainer, folder)
    return policy, trainer


def assert_same_report(kept, report, rtol=2e-6):
    seen = {name: kept[name] for name in kept.files}
    assert set(seen) == {one for one in report.__slots__ if one != "selection"}
    for name in ("has_stepped", "was_clipped", "rate", "num_rows", "num_tokens", "num_trained"):
        assert seen[name] == getattr(report, name), name
    for name in ("loss", "grad_norm", "log_ratio", "entropy"):
        np.testing.assert_allclose(seen[name], getattr(report, name), rtol=rtol, atol=rtol, err_msg=name)
    for name in ("lag", "is_low", "is_high"):
        assert np.array_equal(seen[name], getattr(report, name)), name


def assert_same_state(state, expected, rtol=2e-6):
    """Near in the norm of each weight; the first moment after one step is the gradient itself, scaled."""
    assert state.keys() == expected.keys()
    for name, one in expected.items():
        assert (state[name] - one).double().norm() <= rtol * one.double().norm() + 1e-12, name


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("case", UPDATES)
def test_an_update_is_that_of_one_process(found, batch, case, count):
    (kind, recipe), place = UPDATES[case], found / f"{case}-{count}"
    _, trainer = alone(kind, recipe)
    report = trainer.update(batch(seed=1), 9)
    assert report.was_clipped and report.num_rows > 10
    for rank in range(count):
        assert_same_report(np.load(f"{place}-{rank}.npz"), report)
    assert_same_state(read(place, kind, recipe)[1].state(), trainer.state())


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("case", UPDATES)
def test_published_weights_are_the_masters_in_the_precision_of_the_body(found, case, count):
    kind, recipe = UPDATES[case]
    policy, _ = read(found / f"{case}-{count}", kind, recipe)
    weights = torch.load(found / f"{case}-{count}.pt", weights_only=True)
    expected = policy.trainable()
    assert weights.keys() == expected.keys()
    assert all(weights[name].dtype == one.dtype for name, one in expected.items())
    assert all(torch.equal(weights[name], one) for name, one in expected.items())
    assert ("lm_head.weight" in weights) == (kind in ("untied", "experts"))


@pytest.mark.parametrize("count", COUNTS)
def test_what_two_ranks_wrote_any_number_takes_up(found, batch, count):
    _, trainer = read(found / "tied-split-2", "tied")
    again = read(found / f"again-{count}", "tied")[1].state()
    assert all(torch.equal(again[name], one) for name, one in trainer.state().items()), "masters, moments, counts"
    report = trainer.update(batch(seed=2), 9)
    assert report.rate == 1e-2 and trainer.num_calls == 2
    for rank in range(count):
        assert_same_report(np.load(found / f"next-{count}-{rank}.npz"), report)
    assert_same_state(read(found / f"next-{count}", "tied")[1].state(), trainer.state())


def test_each_rank_writes_its_own_shards(found):
    sizes = [one.stat().st_size for one in (found / "tied-split-4").glob("*.safetensors")]
    (whole,) = [one.stat().st_size for one in (found / "tied-split-1").glob("*.safetensors")]
    assert len(sizes) == 4 and max(sizes) < 0.5 * whole
    assert {one.suffix for one in (found / "tied-split-4").iterdir()} == {".safetensors"}, "no pickle"


@pytest.mark.parametrize("count", COUNTS)
def test_a_number_that_is_none_stops_every_rank(found, count):
    """That no weight moved, the ranks assert; the word is one rank's alone, the message everybody's."""
    messages = {(found / f"stopped-{count}-{rank}.txt").read_text() for rank in range(count)}
    (message,) = messages
    assert "the loss of the update at version 9 is nan: 2 of" in message
    report = alone("untied")[1].update(RANKS.with_rare_word(), 9)
    for rank in range(count):
        assert_same_report(np.load(found / f"mended-{count}-{rank}.npz"), report)


@pytest.mark.parametrize("count", COUNTS)
def test_weights_are_gathered_anew_when_they_have_changed(found, batch, count):
    policy, trainer = alone("tied")
    expected = [RANKS.looked(policy)]
    for seed in (1, 2):
        trainer.update(batch(seed=seed), 9)
        expected.append(RANKS.looked(policy))
        assert (expected[-2][0] - expected[-1][0]).abs().max() > 1e-2
    for rank in range(count):
        looks = torch.load(found / f"looks-{count}-{rank}.pt", weights_only=True)
        torch.testing.assert_close(looks, expected, rtol=1e-4, atol=1e-5)


def test_a_checkpoint_with_a_gap_or_of_another_model_is_refused(found, tmp_path):
    for one in (found / "tied-split-4").iterdir():
        if "shard-00002" not in one.name:
            (tmp_path / one.name).write_bytes(one.read_bytes())
    with pytest.raises(InputError, match="is not whole: a file of the checkpoint is missing"):
        read(tmp_path, "tied")
    with pytest.raises(InputError, match="belongs to another model: lm_head"):
        read(found / "tied-split-4", "untied")


def test_one_process_writes_what_it_reads(tmp_path, batch):
    _, trainer = alone("tied")
    trainer.update(batch(seed=1), 9)
    save(trainer, tmp_path)
    state = read(tmp_path, "tied")[1].state()
    assert all(torch.equal(state[name], one) for name, one in trainer.state().items())
    assert "num_calls" in HuggingFaceStorageReader(str(tmp_path)).read_metadata().state_dict_metadata


@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.integers(1, 9),
    st.sampled_from([Cispo(cap=1.2), Dapo(), Gspo(), Reinforce()]),
)
def test_a_split_over_ranks_never_changes_the_gradient(averager, batch, seed, max_tokens, count, loss):
    policy, objective = averager(seed=seed), Objective()
    rows = rows_of(select(batch(seed=seed), objective), objective)
    batches = list(micro_batches(rows, max_tokens))
    shares = [Ranks(index=index, count=count).share(batches) for index in range(count)]
    assert len({len(one) for one in shares}) == 1, "as many passes on every rank"
    order = np.concatenate([each.order for one in shares for each in one])
    assert np.array_equal(np.sort(order), np.arange(sum(row.num_trainable for row in rows))), "each token once"

    def gradient(parts):
        for one in policy.trainable().values():
            one.grad = None
        for one in parts:
            backward(policy, one, loss_of(loss), 1.0)
        return torch.cat([one.grad.flatten() for one in policy.trainable().values()])

    whole = gradient(batches)
    assert (sum(gradient(one) for one in shares) - whole).norm() <= 1e-6 * whole.norm() + 1e-9


def test_weights_of_two_precisions_are_refused():
    """Gathered in one precision, the weight kept in float32 would compute in another than the engine's."""
    policy = RANKS.made("bfloat16")
    policy.module.model.norm.float()
    with pytest.raises(InputError, match=r"weights in torch.bfloat16, torch.float32; only one precision"):
        shard(policy, None)


def test_experts_are_published_under_the_names_of_a_saved_model(tmp_path):
    """transformers fuses the experts of a layer in memory; engines know them one by one."""
    policy = Policy(experts())
    policy.module.save_pretrained(tmp_path)
    sharded = ShardedPolicy(policy, torch.nn.Identity(), torch.float32, ALONE)
    written, published = load_file(tmp_path / "model.safetensors"), sharded.saved_weights()
    assert set(published) == set(written) and any("experts.1." in name for name in published)
    assert all(torch.equal(published[name], written[name]) for name in written)
