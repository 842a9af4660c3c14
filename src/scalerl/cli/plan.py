"""`scalerl plan`: what a layout would do, before it is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from scalerl.cli.counts import count
from scalerl.cli.numbers import listed, not_negative, one_of, positive
from scalerl.cli.output import note
from scalerl.errors import InputError

if TYPE_CHECKING:
    from scalerl.cli.as_json import Json
    from scalerl.pipeline.plan import Prediction, Relief
    from scalerl.pipeline.plan_reading import Plan
    from scalerl.pipeline.plan_terms import Layout, Points, Rates

EXAMPLE = "Example: scalerl plan runs/demo --gpus 8 --update-seconds 2"
KINDS = ("pipeline", "phased")
_LAYOUT, _RATES = "Layout", "Rates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The layout to look at, where it is not that of the source."""

    generators: Annotated[
        str | None, Option("--generators", metavar="N", help="Generators.", rich_help_panel=_LAYOUT)
    ] = None
    trainers: Annotated[
        str | None, Option("--trainers", metavar="N", help="Trainers.", rich_help_panel=_LAYOUT)
    ] = None
    slots: Annotated[
        str | None,
        Option("--slots", metavar="N", help="Sequences at once on a generator.", rich_help_panel=_LAYOUT),
    ] = None
    k: Annotated[
        str | None, Option("--k", metavar="K", help="Bound on staleness; with --gpus the largest tried.",
                           rich_help_panel=_LAYOUT)
    ] = None  # fmt: skip
    kind: Annotated[
        str | None, Option("--kind", metavar="KIND", help="pipeline or phased.", rich_help_panel=_LAYOUT)
    ] = None

    def layout(self, of: Layout) -> Layout:
        """A layout with what was asked; generators or trainers make it a cluster."""
        is_cluster = self.generators is not None or self.trainers is not None
        k = _counted("--k", self.k, of.k, at_least=0)
        kind = of.kind if self.kind is None else one_of("--kind", self.kind, KINDS)
        if kind == "phased" and k < 1:
            raise InputError(f"k is {k}; phased makes k updates a phase: expected --k of at least 1")
        return replace(
            of,
            place="cluster" if is_cluster else of.place,
            generators=_counted("--generators", self.generators, of.generators),
            trainers=_counted("--trainers", self.trainers, of.trainers),
            slots=_counted("--slots", self.slots, of.slots),
            k=k,
            kind=kind,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Rates that stand in for those of the source."""

    generation: Annotated[
        list[str] | None,
        Option("--generation", metavar="N:RATE,...", help="Sequences in flight and tokens/s of a generator.",
               rich_help_panel=_RATES),
    ] = None  # fmt: skip
    training: Annotated[
        str | None, Option("--training", metavar="RATE", help="Tokens/s of one trainer.", rich_help_panel=_RATES)
    ] = None
    update_seconds: Annotated[
        str | None,
        Option(
            "--update-seconds", metavar="S", help="Pause of generators for new weights.", rich_help_panel=_RATES
        ),
    ] = None
    judge_seconds: Annotated[
        str | None,
        Option("--judge-seconds", metavar="S", help="From a group's end to its verdicts.", rich_help_panel=_RATES),
    ] = None
    overhead_seconds: Annotated[
        str | None,
        Option("--overhead-seconds", metavar="S", help="Of a step beside its tokens.", rich_help_panel=_RATES),
    ] = None

    def rates(self, of: Rates) -> Rates:
        """Rates with what was given."""
        training = of.training if self.training is None else ((1.0, positive("--training", self.training)),)
        return replace(
            of,
            generation=of.generation if self.generation is None else _pairs("--generation", self.generation),
            training=training,
            update_seconds=_seconds("--update-seconds", self.update_seconds, of.update_seconds),
            judge_seconds=_seconds("--judge-seconds", self.judge_seconds, of.judge_seconds),
            overhead_seconds=_seconds("--overhead-seconds", self.overhead_seconds, of.overhead_seconds),
        )


def plan(
    sources: Annotated[
        list[str], Argument(metavar="SOURCE", help="TOML of rates, or run directories.", show_default=False)
    ],
    *,
    gpus: Annotated[
        str | None, Option("--gpus", metavar="N", help="Share out so many GPUs, and take the best.")
    ] = None,
    least_trainers: Annotated[
        str | None, Option("--least-trainers", metavar="N", help="With --gpus: what the model needs (1).")
    ] = None,
    steps: Annotated[
        str | None, Option("--steps", metavar="N", help="Steps to simulate (200; 60 a split).")
    ] = None,
    seed: Annotated[str, Option("--seed", metavar="N", help="Seed of the lengths that are drawn.")] = "0",
    asked: Asked,
    given: Given,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object a line instead.")] = False,
) -> None:
    """Simulate the loop from measured rates: seconds a step, who waits, what limits, which split is best."""
    num = None if gpus is None else count("--gpus", gpus, at_least=2)
    least = _counted("--least-trainers", least_trainers, 1)
    made = None if steps is None else count("--steps", steps)
    start = count("--seed", seed, at_least=0)
    if num is None and least_trainers is not None:
        raise InputError(
            "--least-trainers bounds how --gpus are shared out; expected --gpus N with it, or --trainers N"
        )
    if num is not None and (asked.generators is not None or asked.trainers is not None):
        raise InputError("--gpus shares out generators and trainers; expected neither --generators nor --trainers")

    from scalerl.pipeline.plan import NUM_SHOWN, SEARCH_STEPS, STEPS, predict, propose, reliefs
    from scalerl.pipeline.plan_reading import read_plans

    source = read_plans(sources)
    base = replace(source, layout=asked.layout(source.layout), rates=given.rates(source.rates))
    if num is None:
        found = [predict(base.layout, base.rates, base.workload, steps=made or STEPS, seed=start)]
    else:
        found = propose(
            num, base.layout, base.rates, base.workload, steps=made or SEARCH_STEPS, seed=start,
            num_shown=NUM_SHOWN, least_trainers=least,
        )  # fmt: skip
    eased = reliefs(found[0].layout, base.rates, base.workload, steps=min(made or SEARCH_STEPS, 100), seed=start)
    remarks = _remarks(source, found[0], made or STEPS, start)
    _give(base, found, eased, remarks, _notes(source, found[0].layout, base.rates), as_json=as_json)


def _give(
    base: Plan,
    found: Sequence[Prediction],
    eased: list[Relief],
    remarks: Sequence[str],
    notes: Sequence[str],
    *,
    as_json: bool,
) -> None:
    from scalerl.pipeline.plan import limit_in_words

    if as_json:
        from scalerl.cli.as_json import line

        for place, one in enumerate(found):
            print(line(_record(base, one, eased if place == 0 else [], [*remarks, *notes])))
        return
    from scalerl.cli.plan_shown import headline, relief_table, sentence, table
    from scalerl.report.terminal import WIDEST_TEXT, console, show_headline, show_table, show_title

    screen = console()
    if not screen.is_terminal:
        screen.width = min(screen.width, WIDEST_TEXT)
    show_headline(screen, headline(found[0]), sentence(limit_in_words(eased)), *remarks)
    show_title(screen, "")
    show_table(screen, table(found))
    show_title(screen, "What one change alone would save")
    show_table(screen, relief_table(eased))
    for words in notes:
        note(words)


def _record(base: Plan, one: Prediction, eased: list[Relief], notes: Sequence[str]) -> Json:
    from scalerl.pipeline.plan import limit_in_words

    record: Json = {
        **asdict(one),
        "tokens_per_second": one.tokens_per_second,
        "steps_per_hour": one.steps_per_hour,
        "gpu_hours": one.gpu_hours,
        "rates": asdict(base.rates),
    }
    if eased:
        record |= {"limit": limit_in_words(eased), "reliefs": [asdict(relief) for relief in eased]}
    return {**record, "notes": list(notes)}


def _remarks(source: Plan, best: Prediction, steps: int, seed: int) -> list[str]:
    """Say where one device, which the source has, is faster than the best layout of several."""
    if source.layout.place == "cluster" or best.layout.place == "local":
        return []
    from scalerl.cli.plan_shown import slower_than
    from scalerl.pipeline.plan import predict

    alone = predict(source.layout, source.rates, source.workload, steps=steps, seed=seed)
    return [slower_than(alone, best)] if alone.seconds < best.seconds else []


def _notes(source: Plan, layout: Layout, rates: Rates) -> list[str]:
    """What a reader should know of the numbers."""
    found = list(source.notes)
    if source.layout.place == "local" and layout.place == "cluster" and not rates.update_seconds:
        found.append(
            "The time to publish weights is taken as 0: a run on one device has none; see --update-seconds."
        )
    last = rates.generation[-1][0]
    if layout.slots > last:
        found.append(
            f"Above {last:g} sequences in flight a generator is taken to be no faster: nothing was measured."
        )
    return found


def _counted(option: str, text: str | None, default: int, *, at_least: int = 1) -> int:
    return default if text is None else count(option, text, at_least=at_least)


def _seconds(option: str, text: str | None, default: float) -> float:
    return default if text is None else not_negative(option, text)


def _pairs(option: str, texts: Sequence[str]) -> Points:
    """Read pairs.

    >>> _pairs("--generation", ["16:2000,64:7000"])
    ((16.0, 2000.0), (64.0, 7000.0))
    """
    expected = "pairs such as 16:2000,64:7000"
    found: list[tuple[float, float]] = []
    for one in listed(option, texts):
        in_flight, colon, speed = one.partition(":")
        if not colon:
            raise InputError(f"{option} is {one!r}; expected {expected}")
        found.append((positive(option, in_flight, expected), positive(option, speed, expected)))
    return tuple(sorted(found))
