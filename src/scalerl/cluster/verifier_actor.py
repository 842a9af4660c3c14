"""A judge in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scalerl.model.loading import load_tokenizer
from scalerl.pipeline.judged import Court
from scalerl.recipe.recipe import Recipe
from scalerl.records import Group
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.generator import SeedOf
from scalerl.tasks.building import task_of
from scalerl.tasks.controls import training_judge
from scalerl.tasks.judging import Judge


class VerifierActor:
    """Judges whole groups, by the reward that is trained on or by the task itself."""

    def __init__(self, recipe: Recipe, stops: Sequence[int]) -> None:
        self._recipe = recipe
        self._encoder = Encoder(load_tokenizer(recipe.model.path), recipe.prompt, stops)
        task = task_of(recipe.task, num_held_out=recipe.evaluation.prompts)
        self._own = Judge(task, workers=recipe.runtime.judges)
        rewarding = training_judge(task, recipe.reward)
        self._rewarding = self._own if rewarding is task else Judge(rewarding, workers=recipe.runtime.judges)

    def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    def judged(self, groups: Sequence[Group], seed_of: SeedOf, is_training: bool) -> list[Group]:
        """The same groups with verdicts and rewards."""
        judge = self._rewarding if is_training else self._own
        court = Court(judge=judge, encoder=self._encoder, length=self._recipe.length, seed_of=seed_of)
        return [hearing.group() for hearing in court.hear(groups)]
