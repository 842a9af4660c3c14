"""`scalerl eval`: how good a run or a model is on held-out prompts."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from scalerl.cli.counts import count, counts
from scalerl.cli.numbers import positive
from scalerl.cli.output import note, writable
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.examining import Candidate, Exam
    from scalerl.pipeline.scoring import Scored
    from scalerl.recipe.recipe import Recipe
    from scalerl.records import Group

EXAMPLE = "Example: scalerl eval runs/demo --samples 16 --pass-at 1,4,16 --maj-at 4,16"
OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked and how often."""

    on: Annotated[
        list[str] | None,
        Option("--on", metavar="[NAME=]FILE", help="Ask the [task] of a TOML file instead; 'own' for its own too."),
    ] = None
    task: Annotated[str | None, Option("--task", metavar="NAME", help="Only this task of several.")] = None
    prompts: Annotated[str | None, Option("--prompts", metavar="N", help="Prompts of each set.")] = None
    samples: Annotated[str | None, Option("--samples", metavar="N", help="Answers to each prompt.")] = None
    temperature: Annotated[str | None, Option("--temperature", metavar="T", help="Of sampling.")] = None
    pass_at: Annotated[list[str] | None, Option("--pass-at", metavar="K,...", help="Also pass@k.")] = None
    maj_at: Annotated[list[str] | None, Option("--maj-at", metavar="K,...", help="Also maj@k.")] = None

    def overrides(self) -> list[str]:
        """What of it changes the recipe."""
        found: list[str] = []
        if self.samples is not None:
            found.append(f"evaluation.samples={count('--samples', self.samples)}")
        if self.temperature is not None:
            found.append(f"evaluation.temperature={positive('--temperature', self.temperature)!r}")
        return found

    def ks(self, option: str, texts: Sequence[str] | None, num_samples: int) -> tuple[int, ...]:
        """The numbers of answers to look at together, all of them unless told."""
        found = counts(option, texts) if texts else (num_samples,) if num_samples > 1 else ()
        if found and found[-1] > num_samples:
            raise InputError(f"{option} is {found[-1]}; there are {num_samples} answers to each prompt (--samples)")
        return found


def evaluate(
    what: Annotated[
        str, Argument(metavar="RUN|MODEL", help="Run directory, Hugging Face folder or .gguf.", show_default=False)
    ],
    *,
    recipe: Annotated[
        str | None, Option("--recipe", metavar="NAME", help="How to ask a model: a recipe or its file.")
    ] = None,
    step: Annotated[str | None, Option("--step", metavar="N", help="Checkpoint of a run (the last).")] = None,
    set_: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe.")
    ] = None,
    asking: Asking,
    out: Annotated[
        str | None, Option("-o", "--output", metavar="OUT.jsonl", help="Also write every answer, for scalerl show.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line instead.")] = False,
) -> None:
    """Evaluate a run or a model: mean@n, pass@k and maj@k on held-out prompts."""
    file = None if out is None else writable("--output", out, (".jsonl",))
    at = None if step is None else count("--step", step, at_least=0)
    chosen = _recipe(what, recipe, at, [*asking.overrides(), *(set_ or [])])
    num_samples = chosen.evaluation.samples
    pass_ks = asking.ks("--pass-at", asking.pass_at, num_samples)
    majority_ks = asking.ks("--maj-at", asking.maj_at, num_samples)
    exams = _exams(chosen, asking)
    candidate = _candidate(what, chosen, at)
    found = [(exam, _answers(candidate, exam)) for exam in exams]
    if file is not None:
        _write(file, [group for _, groups in found for group in groups])
    scored = [one for exam, groups in found for one in _scored(candidate, exam, groups, pass_ks, majority_ks)]
    _give(what, candidate, scored, _notes(what, chosen, exams), as_json=as_json)
