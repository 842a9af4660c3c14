"""What a plan starts from: a TOML file of rates, or a run that has measured its own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

from scalerl.errors import InputError
from scalerl.pipeline.plan_terms import Layout, Lengths, Place, Points, Rates, Spread, Workload
from scalerl.recipe.sections import Scheme

_KEYS: dict[str, tuple[str, ...]] = {
    "batch": ("prompts", "samples"),
    "off_policy": ("kind", "k", "ahead"),
    "layout": ("place", "generators", "tensor_parallel", "trainers", "slots", "admits_while_training"),
    "lengths": ("kind", "mean", "spread", "most", "values"),
    "rates": tuple(field.name for field in fields(Rates)),
}
_WORDS = {"off_policy.kind": get_args(Scheme), "layout.place": get_args(Place), "lengths.kind": get_args(Spread)}
_NEEDED = ("batch.prompts", "batch.samples", "layout.slots", "rates.generation", "rates.training", "lengths")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything a prediction needs, and what should be known about where it comes from."""

    layout: Layout
    rates: Rates
    workload: Workload
    notes: tuple[str, ...] = ()


def read_plans(sources: Sequence[str | Path]) -> Plan:
    """The plan of a file, or of the first run; runs with other slots add points to its rate of generation."""
    from scalerl.run.directory import is_run

    plans = [read_plan(source) for source in sources]
    for at, source in enumerate(sources):
        if len(sources) > 1 and not is_run(Path(source)):
            raise InputError("is a file of rates; expected it alone, or nothing but runs", file=Path(source))
        _check_slots(plans[at], plans[:at], Path(source))
    first, *others = plans
    known = dict(point for one in reversed([first, *others]) for point in one.rates.generation)
    return replace(first, rates=replace(first.rates, generation=tuple(sorted(known.items()))))


def _check_slots(plan: Plan, earlier: Sequence[Plan], file: Path) -> None:
    """Refuse a run that would add nothing."""
    if plan.layout.slots in [one.layout.slots for one in earlier]:
        raise InputError(
            f"engine.slots is {plan.layout.slots} as in a run before it; expected another number: "
            "a further run adds the rate of generation at its slots",
            file=file,
        )


def read_plan(source: str | Path) -> Plan:
    """A plan from a TOML file or a run directory."""
    from scalerl.pipeline.plan_measured import measured
    from scalerl.run.directory import is_run

    place = Path(source)
    if is_run(place):
        return measured(place)
    if not place.is_file():
        raise InputError("is neither a run directory nor a file; expected a run or a .toml of rates", file=place)
    try:
        stated = tomllib.loads(place.read_text(encoding="utf-8"))
        return plan_of(stated)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"is no TOML ({problem}); expected rates as in docs/plan.md", file=place) from None
    except InputError as problem:
        raise InputError(str(problem), file=place) from None


def plan_of(stated: Mapping[str, Any]) -> Plan:
    """A plan from a mapping as tomllib gives it."""
    values = _flat(stated)
    for key in _NEEDED:
        if key not in values and not any(one.startswith(f"{key}.") for one in values):
            raise InputError(f"{key} is missing; docs/plan.md lists the keys")
    return Plan(layout=_layout(values), rates=_rates(values), workload=_workload(values))


def points(key: str, value: object) -> Points:
    """Pairs of a count and its tokens a second; a single number is the rate at 1.

    >>> points("rates.training", 500), points("rates.generation", [[16, 2000], [64, 7000]])
    (((1.0, 500.0),), ((16.0, 2000.0), (64.0, 7000.0)))
    """
    if _is_number(value):
        return ((1.0, float(cast(float, value))),)
    rows = cast(list[Any], value) if isinstance(value, list) else []
    if not rows or not all(isinstance(row, list) and len(row) == 2 and all(map(_is_number, row)) for row in rows):
        raise InputError(f"{key} is {value!r}; expected pairs such as [[16, 2000], [64, 7000]]")
    return tuple((float(count), float(speed)) for count, speed in rows)


def _flat(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key; what is not known is refused."""
    found: dict[str, Any] = {}
    for section, content in stated.items():
        if section not in _KEYS or not isinstance(content, dict):
            raise InputError(f"{section} is no section; expected one of {', '.join(_KEYS)}")
        for key, value in cast(dict[str, Any], content).items():
            if key not in _KEYS[section]:
                raise InputError(f"{section}.{key} is no key; expected one of {', '.join(_KEYS[section])}")
            found[f"{section}.{key}"] = _checked(f"{section}.{key}", value)
    return found


def _checked(key: str, value: object) -> object:
    if key in _WORDS:
        if value not in _WORDS[key]:
            raise InputError(f"{key} is {value!r}; expected one of {', '.join(_WORDS[key])}")
    elif key in ("rates.generation", "rates.training"):
        return points(key, value)
    elif key == "lengths.values":
        if not isinstance(value, list) or not all(isinstance(one, int) for one in cast(list[Any], value)):
            raise InputError(f"{key} is {value!r}; expected a list of tokens such as [812, 96, 1503]")
    elif key == "layout.admits_while_training":
        if not isinstance(value, bool):
            raise InputError(f"{key} is {value!r}; expected true or false")
    elif not _is_number(value):
        raise InputError(f"{key} is {value!r}; expected a number")
    elif not key.startswith(("rates.", "lengths.")) and not isinstance(value, int):
        raise InputError(f"{key} is {value!r}; expected a whole number")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _layout(values: Mapping[str, Any]) -> Layout:
    return Layout(
        generators=values.get("layout.generators", 1),
        trainers=values.get("layout.trainers", 1),
        tensor_parallel=values.get("layout.tensor_parallel", 1),
        slots=values["layout.slots"],
        k=values.get("off_policy.k", 8),
        kind=values.get("off_policy.kind", "pipeline"),
        ahead=values.get("off_policy.ahead", 0),
        place=values.get("layout.place", "cluster"),
        admits_while_training=values.get("layout.admits_while_training", True),
    )


def _rates(values: Mapping[str, Any]) -> Rates:
    return Rates(**{key.partition(".")[2]: value for key, value in values.items() if key.startswith("rates.")})


def _workload(values: Mapping[str, Any]) -> Workload:
    recorded = values.get("lengths.values")
    kind: Spread = values.get("lengths.kind", "recorded" if recorded else "geometric")
    lengths = Lengths(
        kind=kind,
        mean=values.get("lengths.mean", 0.0),
        spread=values.get("lengths.spread", 0.5),
        most=values.get("lengths.most", math.inf),
        groups=(tuple(recorded),) if recorded else (),
    )
    return Workload(prompts=values["batch.prompts"], samples=values["batch.samples"], lengths=lengths)
