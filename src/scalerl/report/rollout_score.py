"""Tables of an evaluation: each set with its measures, and how it fares by difficulty."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalerl.pipeline.measures import Measure
from scalerl.pipeline.scoring import Scored
from scalerl.report.rollout_facts import in_order
from scalerl.report.table import Cell, Column, Table, number, number_column, words, words_column
from scalerl.scaling.number_text import UNKNOWN, value_text

MOST_LABELS = 20


def score_table(scored: Sequence[Scored]) -> Table:
    """One row a set."""
    names = list(dict.fromkeys(name for one in scored for name in one.measures))
    return Table(
        title="Evaluation",
        columns=(
            words_column("Set", "set"),
            number_column("Prompts", "num_prompts"),
            *(Column(title=name, fields=(name, f"{name}_error")) for name in names),
            number_column("Interrupted", "interruption"),
            number_column("Truncated", "truncation"),
            number_column("Tokens", "mean_tokens"),
        ),
        rows=tuple(_row(one, names) for one in scored),
        notes=("After ± stands one standard error over prompts.",),
    )


def difficulty_table(scored: Sequence[Scored]) -> Table:
    """Pass rate by difficulty, one row a label; empty where there are no labels, or too many."""
    table = Table(
        title="By difficulty",
        columns=(
            words_column("Set", "set"),
            words_column("Difficulty", "difficulty"),
            number_column("Prompts", "num_prompts"),
            Column(title="Pass rate", fields=("pass_rate", "pass_rate_error")),
        ),
        rows=tuple(
            (words(one.name), words(label), number(count, "{:,.0f}".format), _measure(measure))
            for one in scored
            if 2 <= len(one.difficulties) <= MOST_LABELS
            for label, (count, measure) in one.difficulties.items()
        ),
    )
    return table if len(scored) > 1 else table.without("Set")


def verdict_table(scored: Sequence[Scored]) -> Table:
    """Answers by kind of verdict, one row a set; empty where no task tells kinds."""
    telling = [one for one in scored if one.verdict_kinds]
    kinds = in_order({kind for one in telling for kind in one.verdict_kinds})
    table = Table(
        title="Verdicts",
        columns=(words_column("Set", "set"), *(number_column(kind.capitalize(), kind) for kind in kinds)),
        rows=tuple(
            (words(one.name), *(number(one.verdict_kinds.get(kind, 0), "{:,.0f}".format) for kind in kinds))
            for one in telling
        ),
    )
    return table if len(scored) > 1 else table.without("Set")


def measure_text(measure: Measure) -> str:
    """A mean and its standard error.

    >>> measure_text(Measure(value=0.5, error=0.0125)), measure_text(Measure(value=1.0, error=float("nan")))
    ('0.500 ± 0.013', '1.000')
    """
    return value_text(measure.value) + ("" if math.isnan(measure.error) else f" ± {value_text(measure.error)}")


def _row(one: Scored, names: Sequence[str]) -> tuple[Cell, ...]:
    return (
        words(one.name),
        number(one.num_prompts, "{:,.0f}".format),
        *(_measure(one.measures.get(name)) for name in names),
        number(one.interruption, value_text),
        number(one.truncation, value_text),
        number(one.mean_tokens, "{:,.1f}".format),
    )


def _measure(measure: Measure | None) -> Cell:
    if measure is None:
        return Cell(text=UNKNOWN, numbers=(None, None))
    return Cell(text=measure_text(measure), numbers=(measure.value, measure.error))
