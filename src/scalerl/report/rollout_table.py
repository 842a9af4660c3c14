"""Recorded rollouts in numbers: how many, how right, how long, by difficulty."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scalerl.pipeline.scoring import by_number
from scalerl.records import Rollout
from scalerl.report.rollout_facts import in_order
from scalerl.report.rollout_reading import Recorded
from scalerl.report.table import Cell, Table, number, number_column, words, words_column
from scalerl.scaling.number_text import UNKNOWN, value_text

MOST_ROWS = 20
"""A column with a label of its own for every prompt would drown the table."""
ALL = "all"


def summary_table(recorded: Sequence[Recorded]) -> Table:
    """One row for each difficulty of each task, hardest last where labels are numbers, and one for all.

    Where a task tells kinds of verdicts, those that are no pass have a column each.
    """
    labels = sorted({_label(one) for one in recorded}, key=lambda label: (label[0], by_number(label[1])))
    commonest = sorted(labels, key=lambda label: -sum(_label(one) == label for one in recorded))[:MOST_ROWS]
    shown = [label for label in labels if label in commonest]
    kinds = in_order({_kind(one.rollout) for one in recorded} - {"", "passed"})
    rows = [_row(label, [one for one in recorded if _label(one) == label], kinds) for label in shown]
    whole = [] if len(labels) == 1 else [_row((ALL, ALL), recorded, kinds)]
    left_out = len(labels) - len(shown)
    table = Table(
        title="Rollouts by difficulty",
        columns=(
            words_column("Task", "task"),
            words_column("Difficulty", "difficulty"),
            number_column("Rollouts", "num_rollouts"),
            number_column("Pass rate", "pass_rate"),
            *(number_column(kind.capitalize(), f"num_{kind.replace(' ', '_')}") for kind in kinds),
            number_column("Interrupted", "interrupted_share"),
            number_column("Truncated", "truncated_share"),
            number_column("Mean tokens", "mean_tokens"),
        ),
        rows=(*rows, *whole),
        notes=(f"{left_out} rarer labels are not shown.",) if left_out else (),
    )
    return table if len({task for task, _ in labels}) > 1 else table.without("Task")


def _label(one: Recorded) -> tuple[str, str]:
    return one.group.prompt.task, one.group.prompt.difficulty


def _kind(rollout: Rollout) -> str:
    return "" if rollout.verdict is None else rollout.verdict.kind


def _num_of_kind(rollouts: Sequence[Rollout], kind: str) -> int | None:
    """How many have that kind of verdict; None where the task tells no kinds."""
    found = [_kind(one) for one in rollouts]
    return found.count(kind) if any(found) else None


def _row(label: tuple[str, str], recorded: Sequence[Recorded], kinds: Sequence[str]) -> tuple[Cell, ...]:
    task, difficulty = label
    rollouts = [one.rollout for one in recorded]
    judged = [one for one in rollouts if one.verdict is not None and not one.verdict.error]
    return (
        words(task),
        words(difficulty or UNKNOWN, difficulty),
        number(len(rollouts), _count_text),
        number(_mean([one.passed for one in judged]), value_text),
        *(number(_num_of_kind(rollouts, kind), _count_text) for kind in kinds),
        number(_mean([one.is_interrupted for one in rollouts]), value_text),
        number(_mean([one.ending == "truncated" for one in rollouts]), value_text),
        number(_mean([len(one.tokens) for one in rollouts]), _length_text),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


_count_text: Callable[[float], str] = "{:,.0f}".format
_length_text: Callable[[float], str] = "{:,.1f}".format
