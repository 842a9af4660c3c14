"""Rules between the keys of a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scalerl.errors import InputError
from scalerl.recipe.lengths import Interruption, Limit, Penalty
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import OffPolicy
from scalerl.recipe.tasks import Chain, Code, Gym, Maths, Mixture, Python, Task
from scalerl.recipe.toml_value import toml_value


def check(recipe: Recipe, *, file: str | Path | None = None) -> None:
    """Refuse a recipe whose keys contradict each other: the first contradiction is an InputError."""
    for problem in problems(recipe):
        raise InputError(problem, file=file)


def require_model(recipe: Recipe) -> None:
    """Refuse a recipe that names no model: it can be read and shown, but not trained."""
    if not recipe.model.path:
        raise InputError(
            "model.path is empty; expected a local Hugging Face folder, a .gguf file or demo, in the recipe or as "
            "--set model.path=PATH"
        )


def problems(recipe: Recipe) -> Iterator[str]:
    """Every contradiction, in words."""
    yield from _of_off_policy(recipe.off_policy)
    yield from _of_length(recipe)
    yield from _of_task(recipe.task, "task")
    if isinstance(recipe.task, Mixture):
        yield from _of_mixture(recipe.task, recipe.batch.prompts)


def _of_off_policy(off_policy: OffPolicy) -> Iterator[str]:
    if off_policy.kind == "phased":
        if off_policy.k < 1:
            yield 'off_policy.k is 0; expected at least 1 with off_policy.kind = "phased" (1 is synchronous)'
        if off_policy.ahead > 0:
            yield (
                f'off_policy.ahead is {off_policy.ahead}; expected 0 with off_policy.kind = "phased": '
                'only "pipeline" keeps batches waiting'
            )
    elif off_policy.ahead > off_policy.k:
        yield f"off_policy.ahead is {off_policy.ahead}; expected at most off_policy.k, which is {off_policy.k}"


def _of_length(recipe: Recipe) -> Iterator[str]:
    match recipe.length:
        case Interruption() as length:
            yield from _ordered("length.think_tokens", length.think_tokens)
            yield from _of_close(length.phrase, recipe.prompt.think_close)
        case Penalty(max_tokens=most, margin_tokens=margin) if margin > most:
            yield f"length.margin_tokens is {margin}; expected at most length.max_tokens, which is {most}"
        case Penalty() | Limit():
            pass


def _of_close(phrase: str, close: str) -> Iterator[str]:
    if not close:
        yield (
            'prompt.think_close is empty; length.kind = "interruption" needs the tag that ends thinking '
            '(or choose length.kind = "limit")'
        )
    elif "{close}" not in phrase and not phrase.rstrip().endswith(close):
        yield (
            f"length.phrase is {toml_value(phrase)}; expected {{close}} in it, or prompt.think_close, "
            f"which is {toml_value(close)}, at its end: else thinking goes on after the interruption"
        )


def _of_task(task: Task, key: str) -> Iterator[str]:
    match task:
        case Chain():
            yield from _ordered(f"{key}.steps", task.steps)
        case Maths(path="") | Code(path=""):
            yield f"{key}.path is empty; expected the file or folder with the training prompts"
        case Gym(dataset=""):
            yield f"{key}.dataset is empty; expected the name of a reasoning-gym dataset, such as chain_sum"
        case Python(path=path):
            file, _, name = path.rpartition(":")
            if not (file and name.isidentifier()):
                yield (
                    f"{key}.path is {toml_value(path)}; expected a file, a colon and the name of a class, "
                    "such as my_task.py:Reverse"
                )
        case Mixture(parts=parts):
            for index, part in enumerate(parts):
                yield from _of_task(part.task, f"{key}.parts[{index}].task")
        case Maths() | Code() | Gym():
            pass


def _of_mixture(mixture: Mixture, num_prompts: int) -> Iterator[str]:
    parts = mixture.parts
    if len(parts) < 2:
        yield f"task.parts has {len(parts)}; expected at least 2 [[task.parts]], a single task needs no mixture"
    names = [part.name for part in parts]
    for index, name in enumerate(names):
        if not name.strip():
            yield f"task.parts[{index}].name is empty; expected a name: tables and curves go under it"
        elif name in names[:index]:
            yield f"task.parts[{index}].name is {toml_value(name)}, as another part is; expected distinct names"
    if num_prompts < len(parts):
        yield f"batch.prompts is {num_prompts}; expected at least {len(parts)}, one for each of task.parts"


def _ordered(key: str, between: tuple[int, int]) -> Iterator[str]:
    low, high = between
    if low > high:
        yield f"{key} is {toml_value(between)}; expected the lower number first"
