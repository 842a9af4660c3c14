"""What an evaluation asks, from the words of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from scalerl.cli.counts import count, counts
from scalerl.cli.numbers import positive
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.examining import Exam
    from scalerl.recipe.recipe import Recipe

OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked, and how often."""

    on: Annotated[
        list[str] | None,
        Option("--on", metavar="[NAME=]FILE", help="Ask the task section of a TOML file; 'own' is the recipe's."),
    ] = None
    task: Annotated[str | None, Option("--task", metavar="NAME", help="Only this task of several.")] = None
    prompts: Annotated[str | None, Option("--prompts", metavar="N", help="Prompts of each set.")] = None
    samples: Annotated[str | None, Option("--samples", metavar="N", help="Answers to each prompt.")] = None
    temperature: Annotated[str | None, Option("--temperature", metavar="T", help="Of sampling.")] = None
    pass_at: Annotated[list[str] | None, Option("--pass-at", metavar="K,...", help="Which pass@k (n).")] = None
    maj_at: Annotated[list[str] | None, Option("--maj-at", metavar="K,...", help="Which maj@k (n).")] = None

    def overrides(self) -> list[str]:
        """What of it changes the recipe."""
        found: list[str] = []
        if self.samples is not None:
            found.append(f"evaluation.samples={count('--samples', self.samples)}")
        if self.temperature is not None:
            found.append(f"evaluation.temperature={positive('--temperature', self.temperature)!r}")
        return found

    def ks(self, num_samples: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The k of pass@k and of maj@k; all answers together unless told."""
        from scalerl.pipeline.measures import MOST_SAMPLES

        if num_samples > MOST_SAMPLES:
            raise InputError(
                f"--samples is {num_samples}; expected at most {MOST_SAMPLES}, else maj@k has no count"
            )
        return _ks("--pass-at", self.pass_at, num_samples), _ks("--maj-at", self.maj_at, num_samples)

    def exams(self, recipe: Recipe) -> list[Exam]:
        """The sets to ask: the recipe's own, or those of --on."""
        most = None if self.prompts is None else count("--prompts", self.prompts)
        found = [_exam(one, recipe, most) for one in self.on or [OWN]]
        names = [one.name for one in found]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"--on has two sets of the name {name!r}; name them, as in --on other={name}.toml")
        return found if self.task is None else [one.only(self.task) for one in found]


def _ks(option: str, texts: Sequence[str] | None, num_samples: int) -> tuple[int, ...]:
    found = counts(option, texts) if texts else (num_samples,) if num_samples > 1 else ()
    if found and found[-1] > num_samples:
        raise InputError(f"{option} is {found[-1]}; there are {num_samples} answers to each prompt (--samples)")
    return found


def _exam(text: str, recipe: Recipe, most: int | None) -> Exam:
    from scalerl.pipeline.examining import exam_of, own_exam
    from scalerl.recipe.reading import load

    if text == OWN:
        return own_exam(recipe, most)
    name, equals, file = text.partition("=")
    if not equals or Path(text).is_file():
        name, file = Path(text).stem, text
    if not Path(file).is_file():
        raise InputError(
            f"--on is {text!r}; there is no file {file!r}, expected a TOML file with a [task], or 'own'"
        )
    section = load(Path(file).resolve()).task
    _refuse_more_than_a_task(Path(file))
    return exam_of(name, section, most or recipe.evaluation.prompts)


def _refuse_more_than_a_task(file: Path) -> None:
    """The model is asked as its recipe says: what else a file states would be ignored."""
    stated = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    if "task" not in stated and "extends" not in stated:
        raise InputError("has no [task]; expected what is to be asked", file=file)
    for name in stated:
        if name not in ("task", "extends"):
            raise InputError(f"states {name!r}, which --on does not use; expected a [task] alone", file=file)
