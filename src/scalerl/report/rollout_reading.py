"""Recorded rollouts of a run, or of one file, each with where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group, Rollout
from scalerl.run.directory import is_run
from scalerl.run.groups import read_groups
from scalerl.run.names import RECIPE, by_step

ROLLOUTS = "rollouts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """One rollout of a recorded group."""

    step: int | None
    """The optimizer step that learned from it; none for answers that nothing was learned from."""
    group: Group
    place: int
    """Among the rollouts of its group."""

    @property
    def rollout(self) -> Rollout:
        """The answer itself."""
        return self.group.rollouts[self.place]

    @property
    def lag(self) -> NDArray[np.int32] | None:
        """Of each token: updates made between its sampling and the step that learned from it."""
        # Step n is the update of version n - 1.
        return None if self.step is None else self.step - 1 - self.rollout.versions


def read_recorded(place: Path, *, step: int | None = None, every_step: bool = False) -> list[Recorded]:
    """The rollouts of a file, or of one step of a run (the last unless told), or of every step it keeps."""
    if place.is_file():
        return _of_file(place, None)
    if not is_run(place):
        raise InputError("is no run and no file of rollouts; expected a run directory or a .jsonl file", file=place)
    found = by_step(place / ROLLOUTS)
    if not found:
        raise InputError(_why_none(recipe_of(place)), file=place)
    if step is not None and step not in found:
        raise InputError(f"has no rollouts of step {step}; there are those of {_listed(list(found))}", file=place)
    steps = list(found) if every_step and step is None else [max(found) if step is None else step]
    return [one for each in steps for one in _of_file(found[each], each)]


def recipe_of(place: Path) -> Recipe | None:
    """The recipe of a run; none for a file."""
    return load(place / RECIPE) if is_run(place) else None


def _of_file(file: Path, step: int | None) -> list[Recorded]:
    groups = read_groups(file)
    if not groups:
        raise InputError("is empty; expected recorded rollouts", file=file)
    return [Recorded(step=step, group=group, place=at) for group in groups for at in range(len(group.rollouts))]


def _why_none(recipe: Recipe | None) -> str:
    every = 0 if recipe is None else recipe.log.rollouts_every
    if every == 0:
        return "has no recorded rollouts: log.rollouts_every is 0; set it to record some"
    return f"has no recorded rollouts yet: log.rollouts_every is {every}, so the first are those of step {every}"


def _listed(steps: Sequence[int]) -> str:
    shown = [str(one) for one in steps]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:3], "...", *shown[-3:]])
