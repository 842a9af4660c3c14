"""From the task section of a recipe to the task."""

from __future__ import annotations

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.tasks.chain import Chain
from scalerl.tasks.code import Code
from scalerl.tasks.gym import Gym
from scalerl.tasks.maths import Maths
from scalerl.tasks.mixture import Mixture
from scalerl.tasks.python_task import PythonTask
from scalerl.tasks.task import Task


def task_of(section: recipe.Task, *, num_held_out: int) -> Task:
    """The task that a recipe describes; `num_held_out` (evaluation.prompts) of it are never trained on."""
    match section:
        case recipe.Chain():
            return Chain(section)
        case recipe.Maths():
            return Maths(section, num_held_out)
        case recipe.Code():
            return Code(section, num_held_out)
        case recipe.Gym():
            return Gym(section)
        case recipe.Python():
            return PythonTask(section)
        case recipe.Mixture():
            return _mixture(section, num_held_out)


def _mixture(section: recipe.Mixture, num_held_out: int) -> Mixture:
    names = [part.name for part in section.parts]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"task.parts has the name {twice[0]!r} twice; expected a name of its own for each")
    parts = {part.name: task_of(part.task, num_held_out=num_held_out) for part in section.parts}
    return Mixture(parts, {part.name: part.weight for part in section.parts}, num_held_out)
