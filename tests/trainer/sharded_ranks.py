"""Four processes that hold a policy's shards, on one, two or four of them; what they find goes to a folder.

A script, so that torch is imported once and ranks are forked before anything has been computed.
"""
# ruff: noqa: E402 - the way to the fakes comes first

import sys
from dataclasses import fields, replace
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "model")]

from conftest import batch_of, group_of, rollout_of
from tiny_models import experts, llama, qwen3

from scalerl.model.policy import Policy
from scalerl.recipe.losses import Gspo
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Optimizer
from scalerl.trainer.finite import NonFiniteError
from scalerl.trainer.sharded_checkpoint import load, save
from scalerl.trainer.sharding import shard
from scalerl.trainer.step import Trainer

SECONDS = 240
COUNTS = (1, 2, 4)
# eps as large as the gradient's rounding noise is small: without it the first AdamW step is the noise's sign
RECIPE = Recipe(optimizer=Optimizer(rate=1e-2, warmup_steps=2, eps=1e-4, max_norm=0.5, micro_batch_tokens=32))
WHOLE = replace(RECIPE, loss=Gspo(), optimizer=replace(RECIPE.optimizer, micro_batch_tokens=10**6))
RECOMPUTED = replace(RECIPE, optimizer=replace(RECIPE.optimizer, gradient_checkpointing=True))
RARE = 30


def made(kind):
    """A policy by name; three experts leave one of four ranks without a router's row."""
    match kind:
        case "tied":
            return Policy(qwen3())
        case "untied":
            return Policy(llama(), chunk_tokens=7)
        case "experts":
            return Policy(experts(num_experts=3))
        case "bfloat16":
            return Policy(qwen3().bfloat16())


def with_rare_word():
    """One answer has a word that no other has: what is wrong with it is seen by one rank alone."""
    answers = [rollout_of([RARE, 3], 1.0), rollout_of([4], -1.0)]
    return [*batch_of(seed=1), group_of(9, answers)]


def flat():
    return [group_of(0, [rollout_of([3], 1.0)] * 2)]


UPDATES = [
    ("tied", RECIPE, "split"), ("untied", RECIPE, "split"), ("experts", RECIPE, "split"),
    ("tied", WHOLE, "whole"), ("untied", RECOMPUTED, "recomputed"), ("bfloat16", RECIPE, "split"),
]  # fmt: skip


def trainer_over(kind, mesh, recipe=RECIPE):
    policy = shard(made(kind), mesh)
    return policy, Trainer(policy, recipe, policy.ranks)


def keep(report, path):
    kept = {one.name: getattr(report, one.name) for one in fields(report) if one.name != "selection"}
    np.savez(path, **kept)


def locals_of(policy):
    return {name: one.to_local().detach().clone() for name, one in policy.trainable().items()}


def is_same(one, other):
    return all(torch.equal(one[name].nan_to_num(7.0), other[name].nan_to_num(7.0)) for name in one)


def updated(out, rank, mesh):
    """One update of each kind, then a checkpoint, and the weights as they would be published."""
    for kind, recipe, how in UPDATES:
        place = out / f"{kind}-{how}-{mesh.size()}"
        policy, trainer = trainer_over(kind, mesh, recipe)
        keep(trainer.update(batch_of(seed=1), 9), out / f"{place.name}-{rank}.npz")
        written(trainer, place, mesh)
        weights = policy.full_weights()
        assert bool(weights) == (rank == 0)
        if rank == 0:
            torch.save(weights, out / f"{place.name}.pt")


def written(trainer, place, mesh):
    place.mkdir(exist_ok=True)
    dist.barrier(group=mesh.get_group())
    save(trainer, place)
    dist.barrier(group=mesh.get_group())


def resumed(out, rank, mesh):
    """What two ranks wrote, taken up, written again as it is, and one update further."""
    _, trainer = trainer_over("tied", mesh)
    load(trainer, out / "tied-split-2")
    assert trainer.num_calls == 1
    written(trainer, out / f"again-{mesh.size()}", mesh)
    keep(trainer.update(batch_of(seed=2), 9), out / f"next-{mesh.size()}-{rank}.npz")
    written(trainer, out / f"next-{mesh.size()}", mesh)


def stopped(out, rank, mesh):
    """A weight that is no number, read by one rank: all stop, nothing has moved; mended, the update is as ever."""
    policy, trainer = trainer_over("untied", mesh)
    embedding = next(iter(policy.trainable().values()))
    whole = embedding.full_tensor().detach().clone()
    sick = torch.where(torch.arange(len(whole))[:, None] == RARE, float("nan"), whole)
    put(embedding, sick)
    before = locals_of(policy)
    try:
        trainer.update(with_rare_word(), 9)
        raise AssertionError("an update with NaN went through")
    except NonFiniteError as problem:
        (out / f"stopped-{mesh.size()}-{rank}.txt").write_text(str(problem))
    assert is_same(locals_of(policy), before) and trainer.num_calls == 0
    put(embedding, whole)
    keep(trainer.update(with_rare_word(), 9), out / f"mended-{mesh.size()}-{rank}.npz")


def put(parameter, whole):
    from torch.distributed.tensor import distribute_tensor

    with torch.no_grad():
        parameter.copy_(distribute_tensor(whole, parameter.device_mesh, parameter.placements))


def idle(out, rank, mesh):
    """A flat batch moves nothing; what is gathered to look at the weights is not kept when they are others."""
    policy, trainer = trainer_over("tied", mesh)
    before = locals_of(policy)
    report = trainer.update(flat(), 0)
    assert not report.has_stepped and trainer.num_calls == 0 and is_same(locals_of(policy), before)
    looks = [looked(policy)]
    load(trainer, out / "tied-split-2")
    looks.append(looked(policy))
    trainer.update(batch_of(seed=2), 9)
    looks.append(looked(policy))
    torch.save(looks, out / f"looks-{mesh.size()}-{rank}.pt")


def misled(out, rank, mesh):
    """Ranks with different groups, or one with a flat batch, all stop before a pass, and none waits for another."""
    _, trainer = trainer_over("tied", mesh)
    for groups in (batch_of(seed=rank), flat() if rank else batch_of(seed=1)):
        try:
            trainer.update(groups, 9)
            assert mesh.size() == 1, "different batches went through"
        except AssertionError as problem:
            assert mesh.size() > 1 and "called with different groups" in str(problem)


@torch.no_grad()
def looked(policy):
    return policy.scored(torch.tensor([[1, 2, 3]]), torch.tensor([0, 2]), torch.tensor([2, 5]), 0.7)


def work(rank, out):
    torch.set_num_threads(1)
    where = f"file://{out / 'rendezvous'}"
    dist.init_process_group(
        "gloo", init_method=where, rank=rank, world_size=max(COUNTS), timeout=timedelta(seconds=SECONDS)
    )
    meshes = {count: DeviceMesh("cpu", list(range(count))) for count in COUNTS}
    for scenario in (updated, resumed, stopped, idle, misled):
        for count in COUNTS:
            if rank < count:
                scenario(out, rank, meshes[count])
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    context = get_context("fork")
    ranks = [context.Process(target=work, args=(rank, Path(sys.argv[1]))) for rank in range(max(COUNTS))]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join(SECONDS * 2)
    codes = [one.exitcode for one in ranks]
    for one in ranks:
        one.kill()
    sys.exit(0 if codes == [0] * len(ranks) else f"ranks ended with {codes}")
