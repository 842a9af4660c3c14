"""The curve's points: held-out prompts answered under one policy version while training stands still."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from scalerl.compute import Ledger
from scalerl.errors import StoppedError
from scalerl.pipeline.hearing import LOOK_SECONDS, Hearing
from scalerl.pipeline.roles import Answering, Asking, Judging
from scalerl.pipeline.seeds import seed_of
from scalerl.records import EvalPoint, Group, Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.rollout.engine import Engine
from scalerl.rollout.generator import Generator, SeedOf


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How one held-out prompt fared."""

    prompt: Prompt
    num_passed: int
    num_truncated: int
    num_errors: int
    """Answers that no judge could judge."""
    num_samples: int
    verdict_kinds: Counter[str] = field(default_factory=Counter[str])
    """How many answers ended in each kind of verdict, where the task tells kinds."""

    @classmethod
    def of(cls, group: Group) -> Tally:
        """Count one judged group; what could not be judged counts as failed: every prompt weighs the same."""
        return cls(
            prompt=group.prompt,
            num_passed=sum(one.passed for one in group.rollouts),
            num_truncated=sum(one.ending == "truncated" for one in group.rollouts),
            num_errors=len(group.rollouts) - len(group.judged),
            num_samples=len(group.rollouts),
            verdict_kinds=group.verdict_kinds,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluator:
    """Held-out prompts, somebody to ask, and the task's own judge."""

    asking: Asking
    court_of: Callable[[SeedOf], Judging]
    prompts: tuple[Prompt, ...]
    seed: int

    def groups(self, step: int, is_stopping: Callable[[], bool] = lambda: False) -> Iterator[Group]:
        """Judged groups as they are done, until asked to stop; seeds are fresh each time and follow from the step.

        A prompt that nobody could answer comes as a group without answers.
        """
        ask = partial(_seed, self.seed, step)
        generator, court = self.asking.begin(step, ask), self.court_of(ask)
        for admission, prompt in enumerate(self.prompts):
            generator.ask(prompt, admission)
        heard: deque[Hearing] = deque()
        try:
            while not is_stopping():
                if is_answered := generator.is_idle and court.is_idle:
                    if not heard:
                        return
                else:
                    heard += court.hear(generator.advance())
                    heard += [Hearing.over(self._unanswered(one, step)) for one in generator.given_up()]
                while heard and heard[0].is_over(within=LOOK_SECONDS if is_answered else 0.0):
                    yield heard.popleft().group()
        finally:
            for hearing in heard:
                hearing.drop()

    def tallies(self, step: int, is_stopping: Callable[[], bool] = lambda: False) -> list[Tally] | None:
        """How each prompt fared, in the order of the prompts; None when asked to stop before all are done."""
        found: dict[int, Tally] = {}
        for group in self.groups(step, is_stopping):
            found[group.admission] = Tally.of(group)
        if len(found) < len(self.prompts):
            return None
        samples = max(one.num_samples for one in found.values())
        if samples == 0:
            raise StoppedError("no held-out prompt could be answered")
        return [_whole(found[admission], samples) for admission in sorted(found)]

    def _unanswered(self, admission: int, step: int) -> Group:
        return Group(
            prompt=self.prompts[admission],
            prompt_tokens=np.empty(0, np.int32),
            rollouts=(),
            admission=admission,
            admitted_version=step,
        )


def _whole(tally: Tally, samples: int) -> Tally:
    """Answers that never came count as failed, like those that no judge could judge."""
    return tally if tally.num_samples else replace(tally, num_samples=samples, num_errors=samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnEngine:
    """An engine that answers evaluations and nothing else."""

    engine: Engine
    encoder: Encoder
    num_samples: int

    @property
    def num_tokens(self) -> int:
        """Tokens read and written so far."""
        return self.engine.num_tokens

    def begin(self, step: int, seed_of: SeedOf) -> Answering:
        """A generator over this engine."""
        self.engine.take_up(step)
        return Generator(self.engine, self.encoder, samples=self.num_samples, seed_of=seed_of)


def eval_points(
    tallies: Sequence[Tally], *, step: int, ledger: Ledger, temperature: float, device: str
) -> list[EvalPoint]:
    """One point of the curve a task, at the compute that training has spent so far."""
    tasks = dict.fromkeys(one.prompt.task for one in tallies)
    return [
        _point([one for one in tallies if one.prompt.task == task], task, step, ledger, temperature, device)
        for task in tasks
    ]


def _point(
    tallies: Sequence[Tally], task: str, step: int, ledger: Ledger, temperature: float, device: str
) -> EvalPoint:
    samples = sum(one.num_samples for one in tallies)
    return EvalPoint(
        step=step,
        gpu_hours=ledger.gpu_hours,
        flops=ledger.flops,
        tokens=ledger.tokens,
        pass_rate=sum(one.num_passed for one in tallies) / samples,
        num_prompts=len(tallies),
        num_samples=tallies[0].num_samples,
        temperature=temperature,
        task=task,
        truncation=sum(one.num_truncated for one in tallies) / samples,
        device=device,
    )


def tally_lines(tallies: Sequence[Tally]) -> bytes:
    """Pass counts of each prompt as the file that stands beside `evals.jsonl`."""
    records = (
        {
            "task": one.prompt.task,
            "prompt": one.prompt.id,
            "num_passed": one.num_passed,
            "num_samples": one.num_samples,
        }
        for one in tallies
    )
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _seed(seed: int, step: int, prompt: Prompt, admission: int, place: int) -> int:
    return seed_of(seed, "evaluation", step, prompt.id, place)
