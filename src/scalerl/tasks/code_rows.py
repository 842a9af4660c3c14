"""Programming problems from rows: which dataset a row is of is told by its columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from scalerl.errors import InputError
from scalerl.tasks import code_cases, stable_hash
from scalerl.tasks.code_suite import Suite
from scalerl.tasks.dataset import Row, is_writable
from scalerl.tasks.distinct import same_text
from scalerl.tasks.packed_json import from_json, unpacked

LEAST_SECONDS, MOST_SECONDS = 0.1, 3600.0
MOST_MIB = 1 << 16
_LIMIT = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A programming problem as a dataset has it."""

    name: str
    """Its id in the dataset, or a hash of its text."""
    text: str
    starter: str
    suite: Suite
    difficulty: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """The columns of a dataset: which it is known by, and what they hold."""

    name: str
    known_by: tuple[str, ...]
    suite: Callable[[Row], Suite]
    id: str = ""
    others: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """Column of the problem's text."""
        return self.known_by[0]


def problem_of(row: Row) -> Problem:
    """The problem in a row; what cannot be one is refused with file and line."""
    try:
        return _problem(row)
    except InputError:
        raise
    except (TypeError, OverflowError, RecursionError) as error:
        problem = f"cannot be used ({type(error).__name__}: {error})"
        raise row.refusal(f"{problem}; expected values such as JSON has") from None
    except ValueError as error:
        raise row.refusal(str(error)) from None


def _problem(row: Row) -> Problem:
    found = _format_of(row)
    text, starter = row.text(found.question), _optional(row, "starter_code").strip("\n")
    suite = replace(found.suite(row), **_limits(row))
    _refuse_surrogates(starter, suite)
    name = row.text(found.id) if row.cells.get(found.id) is not None else ""
    return Problem(
        name=name or stable_hash.label(same_text(f"{text}\n{starter}")),
        text=text,
        starter=starter,
        suite=suite,
        difficulty=row.text("difficulty") if _optional(row, "difficulty") else "",
    )


def _refuse_surrogates(starter: str, suite: Suite) -> None:
    if not is_writable(starter):
        raise ValueError("has starter code that is no UTF-8; expected no half of a character")
    for at, trial in enumerate(suite.trials, start=1):
        if not (is_writable(trial.given) and is_writable(trial.expected)):
            raise ValueError(f"test {at} is no UTF-8; expected no half of a character")


def _format_of(row: Row) -> Format:
    for one in FORMATS:
        if all(row.cells.get(column) is not None for column in one.known_by):
            return one
    has = ", ".join(key for key, value in row.cells.items() if value is not None) or "nothing"
    expected = "; or ".join(f"{', '.join(one.known_by)} ({one.name})" for one in FORMATS)
    raise row.refusal(f"has the columns {has:.200}; expected {expected}")


def _own(row: Row) -> Suite:
    return code_cases.own(from_json(row.cells["tests"], "tests"), _optional(row, "entry"))


def _deepcoder(row: Row) -> Suite:
    return code_cases.any_shape(from_json(row.cells["tests"], "tests"), _func_name(row))


def _livecodebench(row: Row) -> Suite:
    public = from_json(row.cells["public_test_cases"], "public_test_cases")
    private = unpacked(row.cells.get("private_test_cases") or "[]", "private_test_cases")
    if not (isinstance(public, list) and isinstance(private, list)):
        raise ValueError("has test cases that are no list; expected objects with input, output and testtype")
    return code_cases.listed([*cast("list[Any]", public), *cast("list[Any]", private)], _func_name(row))


def _apps(row: Row) -> Suite:
    return code_cases.columns(from_json(row.cells["input_output"], "input_output"))


FORMATS = (
    Format(
        name="LiveCodeBench",
        known_by=("question_content", "public_test_cases"),
        suite=_livecodebench,
        id="question_id",
        others=("private_test_cases", "metadata"),
    ),
    Format(
        name="APPS, TACO",
        known_by=("question", "input_output"),
        suite=_apps,
        id="problem_id",
        others=("time_limit", "memory_limit"),
    ),
    Format(name="DeepCoder", known_by=("problem", "tests"), suite=_deepcoder, others=("metadata",)),
    Format(name="our own", known_by=("prompt", "tests"), suite=_own, id="id", others=("entry", "seconds")),
)
COLUMNS = tuple(
    dict.fromkeys(
        column
        for one in FORMATS
        for column in (*one.known_by, one.id, *one.others, "starter_code", "difficulty")
        if column
    )
)
"""Every column that is read of any dataset; the others, such as solutions, are not loaded."""


def _optional(row: Row, column: str) -> str:
    value = row.cells.get(column)
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise row.refusal(f"has {value!r:.40} as {column!r}; expected text")


def _func_name(row: Row) -> str:
    metadata = from_json(row.cells.get("metadata") or {}, "metadata")
    found = cast("dict[str, Any]", metadata).get("func_name") if isinstance(metadata, dict) else None
    return str(found or "")


def _limits(row: Row) -> dict[str, Any]:
    """What the row itself allows: `seconds` of ours, `2.0 seconds` and `256.0 megabytes` of TACO."""
    seconds = row.cells.get("seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise ValueError(f"has {seconds!r:.40} as 'seconds'; expected a number")
    if seconds is None:
        seconds = _limit(row, "time_limit", "second")
    if seconds is not None and not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise ValueError(f"allows {seconds!s:.40} seconds; expected {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
    memory = _limit(row, "memory_limit", "megabyte", "mb")
    if memory is not None and not 1 <= memory <= MOST_MIB:
        raise ValueError(f"allows {memory:g} megabytes; expected 1 to {MOST_MIB}")
    return {
        "seconds": None if seconds is None else float(seconds),
        "memory_mib": None if memory is None else int(memory),
    }


def _limit(row: Row, column: str, unit: str, *short: str) -> float | None:
    """The number in a limit such as `2.0 seconds`, the larger of `1 - 2 seconds`; None where there is none."""
    text = _optional(row, column).strip()
    if not text or text.lower() in ("none", "null"):
        return None
    numbers = [float(one) for one in _LIMIT.findall(text)]
    has_unit = any(one in text.lower() for one in (unit, *short))
    if not (numbers and has_unit) or text.startswith("-"):
        raise ValueError(f"has {text!r:.40} as {column!r}; expected such as '2.0 {unit}s'")
    return max(numbers)
