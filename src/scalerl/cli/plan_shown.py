"""A plan for people: a sentence, a row a layout, a row a change that would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scalerl.pipeline.plan import Prediction, Relief
from scalerl.pipeline.plan_terms import Layout
from scalerl.report.table import Table, number, number_column, words, words_column

OVERHEAD = "overhead (logs, checkpoints, waiting for verdicts)"
LARGE = 0.1
"""From this share of time on, publishing weights is named."""


def headline(best: Prediction) -> str:
    """Say what a layout does, in one sentence."""
    where, layout = _named(best.layout), best.layout
    spent = ", ".join(_spent_alone(best) if layout.place == "local" else _spent_apart(best))
    return (
        f"{where}, {layout.kind} with k = {layout.k}: {_short(best.seconds)} s a step, "
        f"{_short(best.tokens_per_second)} tokens/s, {_short(best.gpu_hours)} GPU-hours a step; {spent}."
    )


def slower_than(alone: Prediction, best: Prediction) -> str:
    """Say that several devices would be no gain."""
    one, several = _short(alone.seconds), _short(best.seconds)
    return f"The one device of the source is faster: {one} s a step instead of {several}."


def _spent_alone(best: Prediction) -> Iterator[str]:
    """On what one device spends a step."""
    yield f"generation has {best.generators.busy:.0%} of it"
    yield f"training {_percent(best.trainers.busy - best.overhead)}"
    if _is_seen(best.overhead):
        yield f"{OVERHEAD} {best.overhead:.0%}"
    if _is_seen(best.trainers.updating):
        yield f"updating weights {best.trainers.updating:.0%}"


def _spent_apart(best: Prediction) -> Iterator[str]:
    """What trainers and generators wait for."""
    yield f"trainers idle {best.trainers.idle:.0%}"
    yield f"generators idle {best.generators.idle:.0%}"
    if best.trainers.updating >= LARGE:
        yield f"both updating weights {best.trainers.updating:.0%}"


def sentence(words: str) -> str:
    """Words with a capital and a full stop.

    >>> sentence("training limits it")
    'Training limits it.'
    """
    return f"{words[0].upper()}{words[1:]}."


def _named(layout: Layout) -> str:
    if layout.place == "local":
        return "One device"
    return f"{_several(layout.generators, 'generator')} and {_several(layout.trainers, 'trainer')}"


def _several(num: int, noun: str) -> str:
    return f"{num} {noun}" if num == 1 else f"{num} {noun}s"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _is_seen(share: float) -> bool:
    """Whether a share is more than 0% in whole percent."""
    return round(100 * share) > 0


def _percent(share: float) -> str:
    """Write a share.

    >>> _percent(0.123), _percent(-0.001)
    ('12%', '0%')
    """
    return f"{round(100 * share) + 0}%"


def table(found: Sequence[Prediction]) -> Table:
    """A row a layout."""
    return Table(
        title="Layouts",
        columns=(
            words_column("Layout", "layout"),
            number_column("k", "k"),
            number_column("Seconds a step", "seconds"),
            number_column("Tokens/s", "tokens_per_second"),
            number_column("GPU-hours a step", "gpu_hours"),
            number_column("Trainers busy", "trainers_busy"),
            number_column("Generators busy", "generators_busy"),
            number_column("Slots filled", "fill"),
            number_column("Mean lag", "lag_mean"),
            number_column("Max", "lag_max"),
        ),
        rows=tuple(
            (
                words(
                    "local" if one.layout.place == "local" else f"{one.layout.generators} + {one.layout.trainers}"
                ),
                number(one.layout.k, lambda k: f"{k:g}"),
                number(one.seconds, _short),
                number(one.tokens_per_second, _short),
                number(one.gpu_hours, _short),
                number(one.trainers.busy, _percent),
                number(one.generators.busy, _percent),
                number(one.fill, _percent),
                number(one.lag_mean, lambda lag: f"{lag:.1f}"),
                number(one.lag_max, lambda lag: f"{lag:g}"),
            )
            for one in found
        ),
        notes=(f"Busy trainers include {OVERHEAD}.",) if any(_is_seen(one.overhead) for one in found) else (),
    )


def relief_table(eased: Sequence[Relief]) -> Table:
    """A row a change, the best first."""
    return Table(
        title="What would help",
        columns=(
            words_column("Part", "name"),
            words_column("Change", "change"),
            number_column("Time saved", "saved"),
        ),
        rows=tuple((words(one.name), words(one.change), number(one.saved, _percent)) for one in eased),
    )
