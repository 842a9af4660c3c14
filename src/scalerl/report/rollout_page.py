"""Rollouts as one HTML document with filters; it needs no network, and without scripts it shows everything."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from string import Template

import scalerl
from scalerl.pipeline.scoring import by_number
from scalerl.report.html_parts import heading, paragraph, section, table_part
from scalerl.report.page_style import STYLE
from scalerl.report.rollout_facts import expected, facts, problem, reason, title, verdict
from scalerl.report.rollout_page_style import SCRIPT
from scalerl.report.rollout_page_style import STYLE as OWN_STYLE
from scalerl.report.rollout_reading import Recorded
from scalerl.report.rollout_text import Piece, Tags, pieces, visible
from scalerl.report.table import Table

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
<header><h1>$title</h1>$about</header>
<main>$summary
<form aria-label="Filters">$filters<output></output></form>
$rollouts</main>
<footer>$footer</footer>
<script>$script</script>
</body>
</html>
"""
)


def rollout_page(name: str, recorded: Sequence[Recorded], summary: Table, tags: Tags, note: str = "") -> str:
    """Make the page: the table first, then the filters, then every rollout."""
    return PAGE.substitute(
        title=escape(f"Rollouts of {name}"),
        style=STYLE + OWN_STYLE,
        about=paragraph(note, "soft") if note else "",
        summary=section([table_part(summary)], "summary"),
        filters=_filters(recorded),
        rollouts="".join(_article(one, tags) for one in recorded),
        footer=_footer(),
        script=SCRIPT,
    )


def _filters(recorded: Sequence[Recorded]) -> str:
    prompts = [one.group.prompt for one in recorded]
    found = [
        _select("verdict", "Verdict", sorted({verdict(one.rollout) for one in recorded})),
        _select("task", "Task", sorted({one.task for one in prompts})),
        _select("difficulty", "Difficulty", sorted({one.difficulty for one in prompts}, key=by_number)),
        _select("interrupted", "Interrupted", ["no", "yes"]),
        _select("truncated", "Truncated", ["no", "yes"]),
        '<label>Words <input type="search" name="words"></label>',
    ]
    return "".join(found)


def _select(key: str, label: str, values: Sequence[str]) -> str:
    """A choice between values; none where there is nothing to choose. The sign in front tells "" from "any"."""
    if len(values) < 2:
        return ""
    options = [f'<option value="={escape(one)}">{escape(one or "none")}</option>' for one in values]
    return f'<label>{label} <select name="{key}"><option value="">any</option>{"".join(options)}</select></label>'


def _article(one: Recorded, tags: Tags) -> str:
    rollout, prompt = one.rollout, one.group.prompt
    data = {
        "verdict": verdict(rollout),
        "task": prompt.task,
        "difficulty": prompt.difficulty,
        "interrupted": "yes" if rollout.is_interrupted else "no",
        "truncated": "yes" if rollout.ending == "truncated" else "no",
    }
    told = " ".join(f'data-{key}="{escape(value)}"' for key, value in data.items())
    rows = [
        ("prompt", _pre(prompt.text)),
        ("answer", f"<pre>{''.join(_piece(piece) for piece in pieces(rollout, tags))}</pre>"),
        ("expected", _pre(expected(prompt.answer))),
        *([("reason", _pre(reason(rollout)))] if reason(rollout) else []),
        *([("error", _pre(problem(rollout)))] if problem(rollout) else []),
    ]
    inside = "".join(f"<dt>{name}</dt><dd>{part}</dd>" for name, part in rows)
    kind = "right" if rollout.passed else "wrong"
    return (
        f'<article class="{kind}" {told}>{heading(visible(title(one)), 3)}<dl>{inside}</dl>'
        f"{paragraph(facts(one), 'soft')}</article>"
    )


def _piece(piece: Piece) -> str:
    text = escape(visible(piece.text))
    if piece.kind == "forced":
        return f'<mark class="forced" title="forced: carries no gradient">{text}</mark>'
    return f'<span class="{piece.kind}">{text}</span>'


def _pre(text: str) -> str:
    return f"<pre>{escape(visible(text))}</pre>"


def _footer() -> str:
    return paragraph(
        "Marked words were forced when thinking was cut; they carry no gradient. Lag counts the updates between the"
        f" sampling of a token and the step that learned from it. Made by scalerl {scalerl.__version__}."
    )
