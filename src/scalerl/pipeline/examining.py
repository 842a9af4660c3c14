"""A policy put before sets of prompts that it was not trained on, outside of any run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from scalerl.errors import InputError
from scalerl.model.loading import device_of, load_policy, load_tokenizer
from scalerl.model.policy import Policy
from scalerl.model.size import is_mixture
from scalerl.pipeline.evaluation import Evaluator, OwnEngine
from scalerl.pipeline.exporting import checkpoint_of, model_folder, policy_at
from scalerl.pipeline.judged import Court
from scalerl.pipeline.measures import Answered, ballot
from scalerl.pipeline.parts import model_stops
from scalerl.pipeline.sizing import bytes_of_a_slot, free_bytes
from scalerl.recipe import tasks as recipe_tasks
from scalerl.recipe.paths import is_shipped
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Model
from scalerl.records import Group, Prompt, Rollout
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.engine import Engine
from scalerl.rollout.limits import Limits
from scalerl.run.directory import Run
from scalerl.tasks.building import task_of
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Exam:
    """A named set of prompts and the task that judges their answers."""

    name: str
    task: Task
    prompts: tuple[Prompt, ...]

    def only(self, task: str) -> Exam:
        """The prompts of one task of several."""
        names = sorted({one.task for one in self.prompts})
        if task not in names:
            raise InputError(f"--task is {task!r}; {self.name} has {', '.join(names)}")
        return replace(self, prompts=tuple(one for one in self.prompts if one.task == task))

    def num_shared(self, pool: Sequence[Prompt]) -> int:
        """How many of its prompts stand in a pool as well."""
        known = {one.text for one in pool}
        return sum(one.text in known for one in self.prompts)


def own_exam(recipe: Recipe, count: int | None) -> Exam:
    """The held-out prompts of a recipe, the same as during its runs, or the first so many of them."""
    task = task_of(recipe.task, num_held_out=recipe.evaluation.prompts)
    held_out = task.held_out(count or recipe.evaluation.prompts)
    return Exam(name=task.name, task=task, prompts=tuple(held_out))


def exam_of(name: str, section: recipe_tasks.Task, count: int) -> Exam:
    """Held-out prompts of another task; a dataset without a held-out file of its own is asked from its start."""
    if isinstance(section, recipe_tasks.Maths | recipe_tasks.Code) and not section.held_out_path:
        task = task_of(section, num_held_out=0)
        return Exam(name=name, task=task, prompts=tuple(task.prompts()[:count]))
    task = task_of(section, num_held_out=count)
    return Exam(name=name, task=task, prompts=tuple(task.held_out(count)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A policy with what it takes to ask it, and how much it had learned."""

    recipe: Recipe
    policy: Policy
    encoder: Encoder
    step: int
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_run(cls, run: Run, recipe: Recipe, step: int | None) -> Candidate:
        """A run at one of its checkpoints, the newest unless told."""
        _set_threads(recipe)
        checkpoint = checkpoint_of(run, step)
        policy = policy_at(run, recipe, checkpoint)
        found = cls._with(recipe, policy, str(model_folder(run)), checkpoint.step)
        return replace(found, warnings=checkpoint.warnings)

    @classmethod
    def of_model(cls, path: str, recipe: Recipe) -> Candidate:
        """A model that nothing was trained by, asked as a recipe says."""
        _set_threads(recipe)
        named = path if is_shipped(Model, path) else str(Path(path).resolve())
        recipe = replace(recipe, model=replace(recipe.model, path=named))
        return cls._with(recipe, load_policy(recipe.model, device_of(recipe.runtime.device)), named, 0)

    @classmethod
    def _with(cls, recipe: Recipe, policy: Policy, tokenizer: str, step: int) -> Candidate:
        encoder = Encoder(load_tokenizer(tokenizer), recipe.prompt, model_stops(policy))
        return cls(recipe=recipe, policy=policy, encoder=encoder, step=step)

    def pool(self) -> Sequence[Prompt]:
        """The prompts that its recipe trains on."""
        return task_of(self.recipe.task, num_held_out=self.recipe.evaluation.prompts).prompts()

    def groups(self, exam: Exam) -> Iterator[Group]:
        """Judged answers to each prompt as they are done; the same as a run's own evaluation of that step."""
        evaluation = self.recipe.evaluation
        with Judge(exam.task, workers=self.recipe.runtime.judges) as judge:
            evaluator = Evaluator(
                asking=OwnEngine(engine=self._engine(exam), encoder=self.encoder, num_samples=evaluation.samples),
                court_of=lambda seed_of: Court(
                    judge=judge, encoder=self.encoder, length=self.recipe.length, seed_of=seed_of
                ),
                prompts=exam.prompts,
                seed=self.recipe.seed,
            )
            yield from evaluator.groups(self.step)

    def answered(self, group: Group) -> Answered:
        """What each answer votes for, and whether it passed."""
        votes = tuple(self._vote(one) for one in group.rollouts)
        return Answered(votes=votes, passed=tuple(one.passed for one in group.rollouts))

    def _vote(self, rollout: Rollout) -> str:
        _, text, is_closed = self.encoder.parts(rollout.tokens)
        said = ballot(text) if is_closed and rollout.ending == "stopped" else ""
        return said or ("nothing" if rollout.passed else "")  # what passed without a word is no abstention

    def _engine(self, exam: Exam) -> Engine:
        engine = self.recipe.engine
        limits = self.encoder.limits(self.recipe.length)
        longest = max(len(self.encoder.prompt(one)) for one in exam.prompts)
        use_graphs = engine.graphs == "on" or (engine.graphs == "auto" and not is_mixture(self.policy))
        return Engine(
            self.policy,
            limits,
            slots=_num_slots(self.recipe, self.policy, limits, longest),
            longest_prompt=longest,
            temperature=self.recipe.evaluation.temperature,
            use_graphs=use_graphs,
            is_compiled=engine.compile,
        )


def _num_slots(recipe: Recipe, policy: Policy, limits: Limits, longest_prompt: int) -> int:
    """As many as the run has or would have, so that answers are the same; fewer where memory is short."""
    wanted = recipe.engine.slots or recipe.batch.prompts * recipe.batch.samples
    each = bytes_of_a_slot(policy, limits, longest_prompt)
    fitting = int(free_bytes(policy.device) * recipe.engine.memory_share) // each
    if fitting < 1:
        raise InputError(
            f"one answer takes {each / 2**30:.1f} GiB, more than is free; lower the budgets in [length]"
        )
    return min(wanted, fitting)


def _set_threads(recipe: Recipe) -> None:
    if recipe.runtime.threads:
        torch.set_num_threads(recipe.runtime.threads)
