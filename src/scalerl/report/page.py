"""The report: one HTML document that needs nothing else, neither network nor script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

import scalerl
from scalerl.errors import InputError
from scalerl.report.atomic import suffix_of, write_atomically
from scalerl.report.comparison_section import calibration_section, comparison_section, comparison_title
from scalerl.report.html_parts import bullets, heading, paragraph, section
from scalerl.report.kept import Kept
from scalerl.report.page_style import STYLE
from scalerl.report.question import Question
from scalerl.report.run_card import refusal_card, run_card
from scalerl.scaling.backtest import OURS, Backtest
from scalerl.scaling.curve import Curve
from scalerl.scaling.estimate import LEVEL
from scalerl.scaling.fit import Method
from scalerl.scaling.forecast import TESTED_FACTOR, Forecast, ForecastPoint
from scalerl.scaling.number_text import level_text

HEADLINE_FACTOR = 2.0  # times the fitted compute, where no compute is named
PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><h1>$title</h1>$contents</header>
<main>$main</main>
<footer>$footer</footer>
</body>
</html>
"""
)


def report_page(
    curves: Sequence[Curve | Sequence[Curve]],
    *,
    law: str = "sigmoid",
    method: Method = "posterior",
    since: float | None = None,
    until: float | None = None,
    at: float | Sequence[float] | None = None,
    reach: Sequence[float] = (),
    level: float = LEVEL,
    title: str | None = None,
    names: Sequence[str] | None = None,
    kept: Mapping[str, Kept] | None = None,
) -> str:
    """Make the report of one run, or of several with their comparison; a run may be several seeds of one recipe.

    `kept` is what run directories keep, by the names of the curves.
    """
    named = () if at is None else (at,) if isinstance(at, (int, float)) else tuple(at)
    question = Question(law=law, method=method, since=since, until=until, at=named, reach=tuple(reach), level=level)
    groups = [[group] if isinstance(group, Curve) else list(group) for group in curves]
    runs = [run for group in groups for run in group]
    if not runs:
        raise InputError("no runs to report on; expected at least one curve")
    cards, backtest = _cards(runs, question, kept or {})
    sections = [*cards, calibration_section(backtest)] if len(runs) > 1 else cards
    titles = [group[0].name for group in groups] if names is None else names
    sections = [*_comparisons(groups, titles, question), *sections]
    return PAGE.substitute(
        title=escape(title or _title(runs)),
        style=STYLE,
        contents=_contents(runs),
        main="".join(sections),
        footer=_footer(question),
    )


def write_page(page: str, path: str | Path) -> None:
    """Write a page, whole or not at all."""
    suffix_of(path, (".html", ".htm"))
    write_atomically(page.encode(), path)


def _cards(runs: Sequence[Curve], question: Question, kept: Mapping[str, Kept]) -> tuple[list[str], Backtest]:
    """A card for each run; one that cannot be fitted says why, unless it is the only one."""
    cards: list[str] = []
    parts: list[Backtest] = []
    for place, run in enumerate(runs, start=1):
        anchor, own = f"run-{place}", kept.get(run.name, Kept())
        try:
            asked = question.forecast(run)
        except InputError as problem:
            if len(runs) == 1:
                raise
            cards.append(refusal_card(run.name, str(problem), anchor, own))
            continue
        parts.append(question.backtest(run))
        headline, other_fits = _headline(asked, question), question.windows(run)
        cards.append(run_card(asked, headline, other_fits, parts[-1], anchor, own, is_open=len(runs) == 1))
    together = Backtest(
        outcomes=tuple(outcome for part in parts for outcome in part.outcomes),
        skipped=tuple(skipped for part in parts for skipped in part.skipped),
        ours=parts[0].ours if parts else OURS,
    )
    return cards, together


def _headline(asked: Forecast, question: Question) -> ForecastPoint:
    compute = question.at[0] if question.at else HEADLINE_FACTOR * asked.fit.fitted.last_compute
    return min(asked.points, key=lambda point: abs(point.compute - compute))


def _comparisons(groups: Sequence[Sequence[Curve]], titles: Sequence[str], question: Question) -> list[str]:
    """One comparison for each task that several recipes have: recipes are never compared across tasks."""
    tasks = [group[0].task for group in groups]
    return [
        _comparison(
            [group for group, own in zip(groups, tasks, strict=True) if own == task],
            [title for title, own in zip(titles, tasks, strict=True) if own == task],
            question,
            task if len(set(tasks)) > 1 else None,
        )
        for task in dict.fromkeys(tasks)
        if tasks.count(task) > 1
    ]


def _comparison(
    groups: Sequence[Sequence[Curve]], titles: Sequence[str], question: Question, task: str | None
) -> str:
    """The comparison of the recipes that have a run to fit, or why there is none."""
    kept = [[run for run in group if question.can_fit(run)] for group in groups]
    recipes = [(title, group) for title, group in zip(titles, kept, strict=True) if group]
    try:
        found = question.compare([group for _, group in recipes], [title for title, _ in recipes])
    except InputError as problem:
        words = [heading(comparison_title(task), 2), paragraph(f"Not compared: {problem}.")]
        return section(words, "comparison")
    whole = [run for _, group in recipes for run in group]
    return comparison_section(found, whole if question.until is not None else (), task)


def _title(runs: Sequence[Curve]) -> str:
    what = "runs" if len({run.task for run in runs}) == 1 else "curves"
    return f"Forecast of {runs[0].name}" if len(runs) == 1 else f"Forecasts of {len(runs)} {what}"


def _contents(runs: Sequence[Curve]) -> str:
    if len(runs) < 2:
        return ""
    links = [f'<a href="#run-{place}">{escape(run.name)}</a>' for place, run in enumerate(runs, start=1)]
    return f'<nav aria-label="Runs" class="soft">{" · ".join(links)}</nav>'


def _footer(question: Question) -> str:
    level = level_text(question.level)
    window = "".join(
        f", {word} compute {end:,g}"
        for word, end in (("from", question.since), ("to", question.until))
        if end is not None
    )
    return (
        heading("How to read this", 2)
        + paragraph(
            f"A {level} band is meant to hold the mean level of the run at that compute {level} of the time. One"
            " evaluation adds the noise of its samples and lies outside more often. A ceiling is called identified"
            " if its 90% interval is at most 0.04 wide and it holds still under flat priors and without the last"
            " quarter of the run."
        )
        + heading("When not to believe it", 2)
        + bullets(
            (
                f"Beyond {TESTED_FACTOR:g} times the fitted compute: no forecast that far was ever judged.",
                "If the learning rate, the data, the length limit or the recipe changed on the way, or will.",
                "If the curve falls or answers are more and more truncated: no law here can fall.",
                "If the ceiling is not identified: believe the levels at a named compute, not the ceiling.",
                "If the evaluations are of training prompts: they say little about held-out ones.",
            )
        )
        + paragraph(
            f"Method {question.method}, law {question.law}{window}. Made by scalerl {scalerl.__version__};"
            " the law is that of arXiv 2510.13786."
        )
    )
