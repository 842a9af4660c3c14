"""The objects of a run, put together from its recipe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import torch

from scalerl.compute import Ledger
from scalerl.errors import InputError
from scalerl.model.loading import device_of, load_policy, load_tokenizer
from scalerl.model.policy import Policy
from scalerl.model.size import is_mixture, num_active_parameters
from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.evaluation import Evaluator
from scalerl.pipeline.judged import Court
from scalerl.pipeline.seeds import seed_of
from scalerl.pipeline.sizing import num_slots
from scalerl.pipeline.staleness import Staleness
from scalerl.pipeline.start_drift import StartDrift
from scalerl.recipe.recipe import Recipe
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.engine import Engine
from scalerl.rollout.generator import Generator
from scalerl.rollout.limits import Limits
from scalerl.tasks.building import task_of
from scalerl.tasks.controls import training_judge
from scalerl.tasks.judging import Judge
from scalerl.tasks.mixture import Mixture
from scalerl.trainer.step import Trainer


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything with state that a run needs, ready to start."""

    recipe: Recipe
    """Resolved: slots and device are numbers and names, no longer `auto`."""
    policy: Policy
    encoder: Encoder
    limits: Limits
    curriculum: Curriculum
    staleness: Staleness
    generator: Generator
    court: Court
    trainer: Trainer
    evaluator: Evaluator
    ledger: Ledger
    start: StartDrift | None
    """The recipe's model as it was loaded, to measure how far training has moved."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that batches are shared between."""
        return tuple(self.staleness.shares)


def parts_of(recipe: Recipe) -> Parts:
    """Load, check and size everything; what cannot work is refused here, before a directory is touched."""
    device = device_of(recipe.runtime.device)
    torch.set_float32_matmul_precision("highest")  # no TF32: the float32 head is there for its last bits
    if recipe.runtime.threads:
        torch.set_num_threads(recipe.runtime.threads)
    task = task_of(recipe.task, num_held_out=recipe.evaluation.prompts)
    prompts, held_out = tuple(task.prompts()), tuple(task.held_out(recipe.evaluation.prompts))
    policy = load_policy(recipe.model, device)
    encoder = Encoder(load_tokenizer(recipe.model.path), recipe.prompt, model_stops(policy))
    limits = encoder.limits(recipe.length)
    longest = max(len(encoder.prompt(one)) for one in (*prompts, *held_out))
    _refuse_beyond_positions(policy, longest + limits.most_tokens)
    slots = num_slots(recipe, policy, limits, longest)
    resolved = resolve(recipe, device, slots)
    engine = partial(
        Engine,
        policy,
        limits,
        slots=slots,
        longest_prompt=longest,
        use_graphs=_uses_graphs(recipe, policy),
        is_compiled=recipe.engine.compile,
    )
    seeds = partial(_rollout_seed, recipe.seed)
    shares = task.shares(recipe.batch.prompts) if isinstance(task, Mixture) else {task.name: recipe.batch.prompts}
    own_judge = Judge(task, workers=recipe.runtime.judges)
    rewarding = (
        own_judge
        if recipe.reward == "task"
        else Judge(training_judge(task, recipe.reward), workers=recipe.runtime.judges)
    )
    return Parts(
        recipe=resolved,
        policy=policy,
        encoder=encoder,
        limits=limits,
        curriculum=Curriculum(prompts, shares, recipe.curriculum, recipe.seed),
        staleness=Staleness(recipe.off_policy.kind, recipe.off_policy.k, shares, recipe.off_policy.ahead),
        generator=Generator(
            engine(temperature=recipe.sampling.temperature), encoder, samples=recipe.batch.samples, seed_of=seeds
        ),
        court=Court(judge=rewarding, encoder=encoder, length=recipe.length, seed_of=seeds),
        trainer=Trainer(policy, recipe),
        evaluator=Evaluator(
            engine=engine(temperature=recipe.evaluation.temperature),
            encoder=encoder,
            judge=own_judge,
            length=recipe.length,
            prompts=held_out,
            num_samples=recipe.evaluation.samples,
            temperature=recipe.evaluation.temperature,
            seed=recipe.seed,
        ),
        ledger=Ledger(num_parameters=num_active_parameters(policy)),
        start=StartDrift(policy) if recipe.log.kl_to_start else None,
    )


def _refuse_beyond_positions(policy: Policy, tokens: int) -> None:
    """A model has learned positions only so far."""
    most = getattr(policy.module.config, "max_position_embeddings", None)
    if most is not None and tokens > most:
        raise InputError(
            f"the longest prompt and the budgets in [length] make {tokens} tokens; the model knows {most} positions"
        )


def resolve(recipe: Recipe, device: torch.device, slots: int) -> Recipe:
    """The recipe with every choice that was left to the machine made once and for all."""
    return replace(
        recipe,
        engine=replace(recipe.engine, slots=slots),
        runtime=replace(
            recipe.runtime,
            device="cuda" if device.type == "cuda" else "cpu",
            threads=recipe.runtime.threads or torch.get_num_threads(),
        ),
    )


def model_stops(policy: Policy) -> tuple[int, ...]:
    """The tokens that the model's own configuration ends an answer with."""
    ends: int | list[int] | None = getattr(policy.module.generation_config, "eos_token_id", None)
    return () if ends is None else (ends,) if isinstance(ends, int) else tuple(ends)


def _uses_graphs(recipe: Recipe, policy: Policy) -> bool:
    return recipe.engine.graphs == "on" or (recipe.engine.graphs == "auto" and not is_mixture(policy))


def _rollout_seed(seed: int, prompt: Prompt, admission: int, place: int) -> int:
    return seed_of(seed, "rollout", prompt.id, admission, place)
