"""Any dataset of reasoning-gym, made and judged in a process of its own.

Some of its generators go through sets of words, whose order differs between processes: the process apart has a
fixed one, so that the same recipe has the same prompts after a resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from scalerl.errors import InputError
from scalerl.recipe import tasks as recipe
from scalerl.records import Prompt, Verdict
from scalerl.tasks import stable_hash
from scalerl.tasks.apart import Apart
from scalerl.tasks.exact_json import decoded, encoded
from scalerl.tasks.task import Answer

OURS = ("size", "seed")  # options that the recipe has its own keys for
DRAWS_PER_PROMPT = 16  # before a dataset is said to have too few different questions
MAKING_SECONDS = 3600.0


class Gym:
    """A dataset of a recipe, with its own scorer; its name is the name of the dataset."""

    def __init__(self, section: recipe.Gym) -> None:
        if find_spec("reasoning_gym") is None:
            raise InputError("task.kind = 'gym' needs reasoning-gym: pip install 'scalerl[gym]'")
        self.section = section
        self.name = section.dataset
        self._held_out: dict[int, list[Prompt]] = {}  # making them starts a process

    def __reduce__(self) -> tuple[Any, ...]:
        return Gym, (self.section,)

    def prompts(self) -> Sequence[Prompt]:
        """The pool: different questions, from one seed."""
        return self._pool

    def held_out(self, count: int) -> Sequence[Prompt]:
        """Different questions from another seed, none of which is in the pool."""
        if count not in self._held_out:
            pool = [prompt.text for prompt in self._pool]
            self._held_out[count] = self._made_apart("held out", count, pool)
        return self._held_out[count]

    def judge(self, prompt: Prompt, answer: Answer) -> Verdict:
        """Scored by the dataset; passed from `pass_at` on."""
        score = min(max(self._score(decoded(prompt.answer), answer.final), 0.0), 1.0)
        return Verdict(score=score, passed=score >= self.section.pass_at)

    def seconds(self, prompt: Prompt) -> float | None:
        """Longest time for one answer."""
        return self.section.seconds

    def load(self) -> None:
        """Import reasoning-gym and make the scorer."""
        _ = self._scorer

    def made(self, stream: str, count: int, taken: Sequence[str]) -> list[dict[str, Any]]:
        """The first different entries of a stream; run in the process apart, where sets have a fixed order."""
        num_draws = count * DRAWS_PER_PROMPT
        dataset = self._dataset(stream, num_draws)
        seen, found = set(taken), list[dict[str, Any]]()
        for entry in (dataset[index] for index in range(num_draws)):
            if entry["question"] not in seen:
                seen.add(entry["question"])
                found.append(entry)
            if len(found) == count:
                return found
        beside = f" beside the pool's {len(taken)}" if taken else ""
        message = f"task.dataset {self.name!r} gave only {len(found)} different questions{beside}"
        raise InputError(f"{message}; {count} are asked for: lower that number or change task.options")

    @cached_property
    def _pool(self) -> list[Prompt]:
        return self._made_apart("pool", self.section.num_prompts, [])

    @cached_property
    def _scorer(self) -> Any:  # noqa: ANN401 - a class of reasoning-gym
        return self._dataset("pool", 1)

    def _made_apart(self, stream: str, count: int, taken: list[str]) -> list[Prompt]:
        process = Apart(self)
        try:
            entries = process.ask("made", stream, count, taken, seconds=MAKING_SECONDS)
            return [self._prompt(entry) for entry in entries]
        except (ChildProcessError, TimeoutError, TypeError) as error:
            raise InputError(f"task.dataset {self.name!r} cannot make its questions: {error}") from None
        finally:
            process.close()

    def _prompt(self, entry: Mapping[str, Any]) -> Prompt:
        name = f"{self.name}:{stable_hash.label(entry['question'])}"
        return Prompt(id=name, task=self.name, text=entry["question"], answer=encoded(entry))

    def _score(self, entry: dict[str, Any], text: str) -> float:
        try:
            return float(self._scorer.score_answer(answer=text, entry=entry))
        except Exception:
            # Some scorers stumble over text that is no answer at all. Where they manage the right one, it is the
            # text's fault: as an error it would be left out, and the pass rate would look better than it is.
            self._scorer.score_answer(answer=entry["answer"], entry=entry)
            return 0.0

    def _dataset(self, stream: str, size: int) -> Any:  # noqa: ANN401
        from reasoning_gym.factory import DATASETS, create_dataset

        self._check_options(DATASETS)
        # Item i of its datasets comes from seed + i: seeds that lie near each other would give the same questions.
        seed = stable_hash.number(self.name, self.section.seed, stream) % 2**31
        try:
            return create_dataset(self.name, size=size, seed=seed, **self.section.options)
        except (AssertionError, TypeError, ValueError) as error:
            raise InputError(f"task.options do not suit the dataset {self.name!r}: {error}") from None

    def _check_options(self, datasets: Mapping[str, tuple[type, type]]) -> None:
        if self.name not in datasets:
            near = get_close_matches(self.name, datasets, n=5, cutoff=0.4) or sorted(datasets)[:5]
            raise InputError(f"task.dataset is {self.name!r}; reasoning-gym has such as {', '.join(near)}")
        known = [one.name for one in fields(datasets[self.name][1]) if one.name not in OURS]
        for option in self.section.options:
            if option not in known:
                raise InputError(f"task.options has {option!r}; {self.name!r} has {', '.join(known)}")
