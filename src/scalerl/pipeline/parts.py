"""The objects of a run, put together from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from scalerl.compute import Ledger
from scalerl.errors import InputError
from scalerl.model.loading import device_name, device_of, load_policy, load_tokenizer
from scalerl.model.policy import Policy
from scalerl.model.size import is_mixture, num_active_parameters
from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.evaluation import Evaluator, OwnEngine
from scalerl.pipeline.judged import Court
from scalerl.pipeline.local import LocalTrainer
from scalerl.pipeline.probe import Probe, probe
from scalerl.pipeline.roles import Judging, Learning, Serving
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
from scalerl.tasks.task import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Everything with state that a run needs, ready to start."""

    recipe: Recipe
    """Resolved: slots and device are numbers and names, no longer `auto`."""
    policy: Policy
    """The model; on a cluster its shapes alone, since the weights live elsewhere."""
    device: str
    """What kind of device trains: `cpu`, or the name of a GPU."""
    encoder: Encoder
    limits: Limits
    curriculum: Curriculum
    staleness: Staleness
    generator: Serving
    court: Judging
    trainer: Learning
    evaluator: Evaluator
    ledger: Ledger
    start: StartDrift | None
    """The recipe's model as it was loaded, to measure how far training has moved."""
    probe: Callable[[], Probe]
    """Whether those who answer and those who learn agree, before anything is learned."""
    close: Callable[[], None]
    """Let go of processes."""
    measures: Callable[[], dict[str, float]] = dict
    """What a step's metrics should tell of those who work elsewhere."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that batches are shared between."""
        return tuple(self.staleness.shares)


@dataclass(frozen=True, kw_only=True, slots=True)
class Questions:
    """The prompts of a recipe, and how they become tokens."""

    task: Task
    prompts: tuple[Prompt, ...]
    held_out: tuple[Prompt, ...]
    encoder: Encoder
    limits: Limits
    longest: int
    """Tokens of the longest prompt."""
    shares: dict[str, int]
    """Prompts of each task in a batch."""

    @classmethod
    def of(cls, recipe: Recipe, policy: Policy) -> Questions:
        """Load the task and check that its prompts fit the model."""
        task = task_of(recipe.task, num_held_out=recipe.evaluation.prompts)
        prompts, held_out = tuple(task.prompts()), tuple(task.held_out(recipe.evaluation.prompts))
        encoder = Encoder(load_tokenizer(recipe.model.path), recipe.prompt, model_stops(policy))
        limits = encoder.limits(recipe.length)
        longest = max(len(encoder.prompt(one)) for one in (*prompts, *held_out))
        _refuse_beyond_positions(policy, longest + limits.most_tokens)
        is_mixed = isinstance(task, Mixture)
        shares = task.shares(recipe.batch.prompts) if is_mixed else {task.name: recipe.batch.prompts}
        return cls(
            task=task,
            prompts=prompts,
            held_out=held_out,
            encoder=encoder,
            limits=limits,
            longest=longest,
            shares=shares,
        )

    def curriculum(self, recipe: Recipe) -> Curriculum:
        """Which prompt comes next."""
        return Curriculum(self.prompts, self.shares, recipe.curriculum, recipe.seed)

    def staleness(self, recipe: Recipe) -> Staleness:
        """Which group may start."""
        return Staleness(recipe.off_policy.kind, recipe.off_policy.k, self.shares, recipe.off_policy.ahead)


def parts_of(recipe: Recipe) -> Parts:
    """Load, check and size everything; what cannot work is refused here, before a directory is touched."""
    device = device_of(recipe.runtime.device)
    torch.set_float32_matmul_precision("highest")  # no TF32: the float32 head is there for its last bits
    if recipe.runtime.threads:
        torch.set_num_threads(recipe.runtime.threads)
    policy = load_policy(recipe.model, device)
    asked = Questions.of(recipe, policy)
    encoder, limits = asked.encoder, asked.limits
    slots = num_slots(recipe, policy, limits, asked.longest)
    engine = partial(
        Engine,
        policy,
        limits,
        slots=slots,
        longest_prompt=asked.longest,
        use_graphs=_uses_graphs(recipe, policy),
        is_compiled=recipe.engine.compile,
    )
    seeds = partial(rollout_seed, recipe.seed)
    own_judge = Judge(asked.task, workers=recipe.runtime.judges)
    rewarding = own_judge if recipe.reward == "task" else _control(asked.task, recipe)
    court = partial(Court, encoder=encoder, length=recipe.length)
    evaluating = engine(temperature=recipe.evaluation.temperature)

    def close() -> None:
        with own_judge, rewarding:  # each is closed, whatever happens to the other
            pass

    return Parts(
        recipe=resolve(recipe, device, slots),
        policy=policy,
        device=device_name(device),
        encoder=encoder,
        limits=limits,
        curriculum=asked.curriculum(recipe),
        staleness=asked.staleness(recipe),
        generator=Generator(
            engine(temperature=recipe.sampling.temperature), encoder, samples=recipe.batch.samples, seed_of=seeds
        ),
        court=court(judge=rewarding, seed_of=seeds),
        trainer=LocalTrainer(policy, recipe),
        evaluator=Evaluator(
            asking=OwnEngine(engine=evaluating, encoder=encoder, num_samples=recipe.evaluation.samples),
            court_of=lambda seed_of: court(judge=own_judge, seed_of=seed_of),
            prompts=asked.held_out,
            seed=recipe.seed,
        ),
        ledger=Ledger(num_parameters=num_active_parameters(policy)),
        start=StartDrift(policy) if recipe.log.kl_to_start else None,
        probe=partial(probe, policy, encoder, limits, asked.held_out, recipe.sampling.temperature),
        close=close,
    )


def _control(task: Task, recipe: Recipe) -> Judge:
    return Judge(training_judge(task, recipe.reward), workers=recipe.runtime.judges)


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


def rollout_seed(seed: int, prompt: Prompt, admission: int, place: int) -> int:
    """The seed of one place in one admission of a prompt, of this run."""
    return seed_of(seed, "rollout", prompt.id, admission, place)
