"""`scalerl eval`: how good a run or a model is on held-out prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from scalerl.cli.counts import count
from scalerl.cli.exams import Asking
from scalerl.cli.model_argument import said_as
from scalerl.cli.numbers import positive
from scalerl.cli.output import note, writable
from scalerl.cli.progress import steps
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.pipeline.examining import Candidate, Exam
    from scalerl.pipeline.measures import Measure
    from scalerl.pipeline.scoring import Scored
    from scalerl.recipe.recipe import Recipe
    from scalerl.records import Group

EXAMPLE = "Example: scalerl eval runs/demo --samples 16 --pass-at 1,4,16 --maj-at 4,16"


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
    if asking.temperature is not None:
        positive("--temperature", asking.temperature, "a positive number such as 0.7")
    at = None if step is None else count("--step", step, at_least=0)
    chosen = _recipe(what, recipe, at, [*asking.overrides(), *(set_ or [])])
    ks = asking.ks(chosen.evaluation.samples)
    exams = asking.exams(chosen)
    candidate = _candidate(what, chosen, at)
    found = [(exam, _answers(candidate, exam)) for exam in exams]
    if file is not None:
        _write(file, [group for _, groups in found for group in groups])
    scored = [one for exam, groups in found for one in _scored(candidate, exam, groups, *ks)]
    _give(what, candidate, scored, _warnings(what, candidate, exams, scored), as_json=as_json)


def _recipe(what: str, recipe: str | None, step: int | None, overrides: Sequence[str]) -> Recipe:
    from scalerl.recipe.paths import is_shipped
    from scalerl.recipe.reading import load
    from scalerl.recipe.sections import Model
    from scalerl.run.directory import is_run
    from scalerl.run.names import RECIPE

    if not is_shipped(Model, what) and not Path(what).exists():
        raise InputError("nothing is there; expected a run, a Hugging Face folder or a .gguf file", file=what)
    if is_run(what):
        if recipe is not None:
            raise InputError("--recipe says how to ask a model; a run has its own, change it with --set", file=what)
        return load(Path(what) / RECIPE, overrides)
    if step is not None:
        raise InputError("--step names a checkpoint of a run; this is none", file=what)
    if recipe is None:
        raise InputError("is no run; to ask a model say how with --recipe NAME", file=what)
    return load(recipe, overrides)


def _candidate(what: str, recipe: Recipe, step: int | None) -> Candidate:
    from scalerl.pipeline.examining import Candidate
    from scalerl.run.directory import Run, is_run

    if is_run(what):
        return Candidate.of_run(Run.read(what), recipe, step)
    with said_as("RUN|MODEL"):
        return Candidate.of_model(what, recipe)


def _answers(candidate: Candidate, exam: Exam) -> list[Group]:
    """All groups in the order of the prompts."""
    with steps(len(exam.prompts), f"answering {exam.name}") as step:
        found: list[Group] = []
        for group in candidate.groups(exam):
            step("")
            found.append(group)
    return sorted(found, key=lambda group: group.admission)


def _scored(
    candidate: Candidate, exam: Exam, groups: Sequence[Group], pass_ks: Sequence[int], majority_ks: Sequence[int]
) -> Iterator[Scored]:
    """One score a task: the parts of a mixture are told apart."""
    from scalerl.pipeline.scoring import scored

    tasks = list(dict.fromkeys(group.prompt.task for group in groups))
    for task in tasks:
        own = [group for group in groups if group.prompt.task == task]
        name = exam.name if len(tasks) == 1 else f"{exam.name} [{task}]"
        yield scored(name, own, [candidate.answered(group) for group in own], pass_ks, majority_ks)


def _write(file: Path, groups: Sequence[Group]) -> None:
    from scalerl.report.atomic import write_atomically
    from scalerl.run.groups import group_lines

    write_atomically(group_lines(groups), file)
    note(f"wrote {file}")


def _warnings(what: str, candidate: Candidate, exams: Sequence[Exam], scored: Sequence[Scored]) -> tuple[str, ...]:
    from scalerl.run.directory import is_run

    found = list(candidate.warnings)
    if is_run(what):
        pool = candidate.pool()
        shared = {exam.name: exam.num_shared(pool) for exam in exams}
        found += [
            f"{count} prompts of {name} were trained on by this run" for name, count in shared.items() if count
        ]
    found += [
        f"{one.num_errors} answers to {one.name} could not be judged: wrong" for one in scored if one.num_errors
    ]
    return tuple(found)


def _give(
    what: str, candidate: Candidate, scored: Sequence[Scored], warnings: tuple[str, ...], *, as_json: bool
) -> None:
    if as_json:
        from scalerl.cli.as_json import line

        for one in scored:
            print(line({**_about(what, candidate), **_record(one), "warnings": list(warnings)}))
        return
    from scalerl.cli.answer import Answer
    from scalerl.cli.output import show
    from scalerl.report.rollout_score import difficulty_table, score_table, verdict_table

    tables = (score_table(scored), difficulty_table(scored), verdict_table(scored))
    shown = tuple(table for table in tables if table.rows)
    headline = (_headline(what, candidate, scored[0]),)
    show(Answer(records=(), headlines=(headline,), tables=shown, warnings={what: warnings}))


def _headline(what: str, candidate: Candidate, one: Scored) -> str:
    from scalerl.report.rollout_score import measure_text
    from scalerl.run.directory import is_run

    when = f" at step {candidate.step}" if is_run(what) else ""
    samples = "sample" if one.num_samples == 1 else "samples"
    prompts = "prompt" if one.num_prompts == 1 else "prompts"
    return (
        f"{what}{when} answers {measure_text(one.mean)} of {one.name} rightly: {one.num_prompts} {prompts}, "
        f"{one.num_samples} {samples} each, temperature {candidate.recipe.evaluation.temperature:g}."
    )


def _about(what: str, candidate: Candidate) -> dict[str, Any]:
    return {
        "file": what,
        "step": candidate.step,
        "temperature": candidate.recipe.evaluation.temperature,
        "seed": candidate.recipe.seed,
    }


def _record(one: Scored) -> dict[str, Any]:
    return {
        "set": one.name,
        "num_prompts": one.num_prompts,
        "num_samples": one.num_samples,
        "measures": {name: _measure(measure) for name, measure in one.measures.items()},
        "truncation": one.truncation,
        "interruption": one.interruption,
        "mean_tokens": one.mean_tokens,
        "num_errors": one.num_errors,
        "verdicts": dict(one.verdict_kinds),
        "difficulties": {
            label: {"num_prompts": count, **_measure(measure)}
            for label, (count, measure) in one.difficulties.items()
        },
    }


def _measure(measure: Measure) -> dict[str, float]:
    return {"value": measure.value, "error": measure.error}
