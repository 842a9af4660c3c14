"""The objects of a run on a cluster, put together from its recipe: the driver's half of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import ray
import torch

from scalerl.cluster import actors
from scalerl.cluster.generation import ClusterAsking, ClusterGenerator
from scalerl.cluster.generator_actor import GeneratorActor
from scalerl.cluster.judging import ClusterCourt, Verifiers
from scalerl.cluster.layout import Layout
from scalerl.cluster.learning import ClusterTrainer
from scalerl.cluster.pool import Limits as PoolLimits
from scalerl.cluster.pool import Pool
from scalerl.cluster.session import placed
from scalerl.cluster.trainer_actor import TrainerActor
from scalerl.cluster.transfer import NcclTransfer, StoreTransfer
from scalerl.cluster.verifier_actor import VerifierActor
from scalerl.compute import Ledger
from scalerl.errors import InputError, StoppedError
from scalerl.model.loading import describe_policy, folder_of
from scalerl.model.policy import Policy
from scalerl.model.size import is_mixture, num_active_parameters
from scalerl.pipeline.evaluation import Evaluator
from scalerl.pipeline.parts import Parts, Questions, rollout_seed
from scalerl.pipeline.probe import NUM_PROMPTS, NUM_SAMPLES, Probe
from scalerl.pipeline.seeds import seed_of
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group, Prompt
from scalerl.rollout.vllm.options import VllmOptions


def parts_on_cluster(recipe: Recipe, tell: Callable[[str], None] = lambda _: None) -> Parts:
    """Place and start everything; what cannot work is refused before a directory is touched.

    `tell` hears in words what is lost and replaced on the way.
    """
    has_gpus = ray.cluster_resources().get("GPU", 0) > 0 and recipe.runtime.device != "cpu"
    if recipe.runtime.device == "cuda" and not has_gpus:
        raise InputError('runtime.device is "cuda"; the cluster has no GPUs, expected "auto" or "cpu"')
    recipe = _resolved(recipe, has_gpus=has_gpus)
    sent = _with_folder(recipe)
    layout = Layout.of(recipe.runtime, has_gpus=has_gpus)
    policy = describe_policy(recipe.model, "cuda" if has_gpus else "cpu")
    if recipe.runtime.transfer == "nccl":
        _refuse_nccl(policy, has_gpus=has_gpus)
    asked = Questions.of(recipe, policy)
    group = placed(layout, recipe.runtime.start_seconds, tell)
    dtype = str(policy.dtype).removeprefix("torch.")
    return _Started(recipe, sent, layout, asked, group, dtype, tell).parts(policy)


class _Started:
    """Actors by their roles, while they are put together."""

    def __init__(
        self,
        recipe: Recipe,
        sent: Recipe,
        layout: Layout,
        asked: Questions,
        group: Any,  # noqa: ANN401
        dtype: str,
        tell: Callable[[str], None],
    ) -> None:
        self._recipe, self._sent, self._layout, self._asked, self._group = recipe, sent, layout, asked, group
        self._dtype, self._run = dtype, uuid4().hex[:8]
        runtime = recipe.runtime
        self._ends: list[Callable[[], None]] = [lambda: ray.util.remove_placement_group(group)]
        try:
            self.trainer = ClusterTrainer(self._sent, self._trainer)
            self._ends.append(self.trainer.close)
            limits = PoolLimits(
                start=runtime.start_seconds, update=runtime.update_seconds, restarts=runtime.restarts
            )
            kind = NcclTransfer if runtime.transfer == "nccl" else StoreTransfer
            transfer = kind(self.trainer, limits.update)
            self.pool = Pool(runtime.generators, self._generator, limits, transfer, tell)
            self._ends.append(self.pool.close)
            self.verifiers = Verifiers(runtime.verifiers, self._verifier, limits, tell)
            self._ends.append(self.verifiers.close)
        except BaseException:
            self.close()
            raise

    def parts(self, policy: Any) -> Parts:  # noqa: ANN401
        """What the loop works with."""
        recipe, asked = self._recipe, self._asked
        seeds = partial(rollout_seed, recipe.seed)
        ask = partial(
            ClusterGenerator, self.pool, asked.encoder, slots=self._slots, seconds=recipe.runtime.answer_seconds
        )
        generator = ask(samples=recipe.batch.samples, temperature=recipe.sampling.temperature, seed_of=seeds)
        return Parts(
            recipe=recipe,
            policy=policy,
            device=self.trainer.device,
            encoder=asked.encoder,
            limits=asked.limits,
            curriculum=asked.curriculum(recipe),
            staleness=asked.staleness(recipe),
            generator=generator,
            court=ClusterCourt(self.verifiers, seeds, is_training=True),
            trainer=self.trainer,
            evaluator=Evaluator(
                asking=ClusterAsking(
                    pool=self.pool,
                    encoder=asked.encoder,
                    samples=recipe.evaluation.samples,
                    temperature=recipe.evaluation.temperature,
                    slots=self._slots,
                    seconds=recipe.runtime.answer_seconds,
                ),
                court_of=partial(ClusterCourt, self.verifiers, is_training=False),
                prompts=asked.held_out,
                seed=recipe.seed,
            ),
            ledger=Ledger(num_parameters=num_active_parameters(policy), num_devices=self._layout.num_devices),
            start=None,
            probe=lambda: _probe(
                ask(samples=NUM_SAMPLES, temperature=recipe.sampling.temperature, seed_of=_probe_seed),
                self.trainer,
                asked,
            ),
            close=self.close,
            measures=lambda: {
                **generator.measures(),
                "cluster/verifiers_replaced": float(self.verifiers.num_restarts),
                "cluster/trainers_restarted": float(self.trainer.num_restarts),
            },
        )

    def close(self) -> None:
        """End everything, last started first."""
        while self._ends:
            self._ends.pop()()

    @property
    def _slots(self) -> int:
        return self._recipe.engine.slots

    def _generator(self, index: int, attempt: int) -> Any:  # noqa: ANN401
        recipe, asked = self._recipe, self._asked
        options = VllmOptions(
            model=self._sent.model.path,
            dtype="float32" if self._dtype == "float32" else "bfloat16",
            is_fp32_head=recipe.model.fp32_head,
            max_model_len=asked.longest + asked.limits.most_tokens,
            max_sequences=self._slots,
            tensor_parallel=recipe.runtime.tensor_parallel,
            seed=recipe.seed,
            uses_nccl=recipe.runtime.transfer == "nccl",
            start_seconds=recipe.runtime.start_seconds,
            answer_seconds=recipe.runtime.answer_seconds,
        )
        return actors.start(
            GeneratorActor,
            f"{self._run}-generator-{index}-{attempt}",
            options,
            asked.limits,
            needs=self._layout.generator,
            place=(self._group, index),
            concurrency=4 * self._slots + 8,
        )

    def _trainer(self, rank: int, attempt: int) -> Any:  # noqa: ANN401
        return actors.start(
            TrainerActor,
            f"{self._run}-trainer-{rank}-{attempt}",
            self._sent,
            rank,
            needs=self._layout.trainer,
            place=(self._group, self._layout.generators + rank),
        )

    def _verifier(self, index: int, attempt: int) -> Any:  # noqa: ANN401
        return actors.start(
            VerifierActor,
            f"{self._run}-verifier-{index}-{attempt}",
            self._sent,
            self._asked.encoder.stops,
            needs={"CPU": 0.1},
        )


def _refuse_nccl(policy: Policy, *, has_gpus: bool) -> None:
    if not has_gpus:
        raise InputError('runtime.transfer is "nccl", which needs GPUs; expected "store" on this cluster')
    if is_mixture(policy):
        raise InputError('runtime.transfer is "nccl", which cannot send a mixture of experts; expected "store"')


def _resolved(recipe: Recipe, *, has_gpus: bool) -> Recipe:
    """The recipe with every choice that was left to the machines made once and for all."""
    runtime = recipe.runtime
    wanted = recipe.engine.slots or -(-recipe.batch.prompts * recipe.batch.samples // runtime.generators)
    return replace(
        recipe,
        engine=replace(recipe.engine, slots=wanted),
        runtime=replace(
            runtime, device="cuda" if has_gpus else "cpu", threads=runtime.threads or torch.get_num_threads()
        ),
    )


def _with_folder(recipe: Recipe) -> Recipe:
    """What actors are sent: they may run in another folder."""
    place = folder_of(recipe.model.path)
    if place.is_file():
        raise InputError(
            f"model.path is {recipe.model.path!r}; a cluster needs a Hugging Face folder: "
            "`scalerl warmstart` or `scalerl export` writes one"
        )
    return replace(recipe, model=replace(recipe.model, path=str(Path(place).resolve())))


def _probe(generator: ClusterGenerator, trainer: ClusterTrainer, asked: Questions) -> Probe:
    """A few answers of the generators, and what the trainer thinks of the same tokens."""
    for admission, one in enumerate(asked.held_out[:NUM_PROMPTS]):
        generator.ask(one, admission)
    groups: list[Group] = []
    while not generator.is_idle:
        groups += generator.advance()
        if generator.given_up():
            raise StoppedError("the generators could not answer the prompts of the start-up probe")
    said = [rollout.behavior[rollout.is_trainable] for group in groups for rollout in group.rollouts]
    errors = np.concatenate(trainer.log_probs(groups)) - np.concatenate(said)
    return Probe(
        rms=float(np.sqrt(np.mean(errors**2))), largest=float(np.abs(errors).max()), num_tokens=len(errors)
    )


def _probe_seed(prompt: Prompt, _: int, place: int) -> int:
    return seed_of(prompt.id, place)
