"""A program tried on the tests of a problem: what each run gave is compared here, outside the sandbox."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from scalerl.recipe import tasks as recipe
from scalerl.records import Verdict
from scalerl.sandbox import Job, Kind, Limits, Outcome
from scalerl.tasks.code_suite import Suite, Trial
from scalerl.tasks.same_output import parsed, same_stdout, same_value

MOST_LATE = 2
"""Tests of one program that may run out of time; the rest then counts as failed and is not run."""
MOST_LETTERS = 70
"""Of what was given, expected and found, each, in the reason of a verdict."""
SPARE_BYTES = 1 << 16
"""Output beyond twice the expected one that a program may always make."""
PRELUDE = (
    "from typing import *; from collections import *; "
    "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys\n"
)
"""Names that starter code (`List`) and answers to it take for granted; one line before the program."""
_FUTURE = re.compile(r"^from[ \t]+__future__\b", re.MULTILINE)
PASSED, WRONG, BROKEN = "passed", "wrong", "judge error"
_KINDS: dict[Kind, str] = {
    "done": WRONG,
    "error": "runtime error",
    "time": "time",
    "memory": "memory",
    "output": "output",
    "forbidden": "forbidden",
    "broken": BROKEN,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Trying:
    """How programs are tried: where they run, what they may take and what they earn."""

    run: Callable[[Job], Outcome]
    section: recipe.Code
    clock: Callable[[], float] = time.monotonic

    def verdict(self, program: str, suite: Suite) -> Verdict:
        """Try a program test by test; its kind is that of the first that failed.

        With credit for all the first failure ends it. With credit for a share the rest is run too, until the second
        that runs out of time. When the time of the answer is over no further test is begun, and the next has failed
        by it.
        """
        kinds: list[str] = []
        reason = ""
        end = self.clock() + self.section.answer_seconds
        for trial in suite.trials:
            if self.clock() >= end:
                kinds.append("time")
                reason = reason or f"{self.section.answer_seconds:g} s of the answer were over before the next test"
                break
            outcome = self.run(self._job(program, suite, trial))
            kind = _kind(outcome, suite, trial)
            if kind == BROKEN:
                return broken(outcome.detail or "the sandbox failed")
            kinds.append(kind)
            if kind != PASSED and not reason:
                reason = f"test {len(kinds)} of {len(suite.trials)}: {_seen(outcome, suite, trial)}"
            is_lost = kind != PASSED and self.section.credit == "all"
            if is_lost or kinds.count("time") == MOST_LATE:
                break
        first = next((kind for kind in kinds if kind != PASSED), PASSED)
        share = kinds.count(PASSED) / len(suite.trials)
        score = share if self.section.credit == "share" else float(first == PASSED)
        return Verdict(score=score, passed=first == PASSED, kind=first, reason=reason)

    def _job(self, program: str, suite: Suite, trial: Trial) -> Job:
        least = Limits()
        limits = Limits(
            seconds=suite.seconds or self.section.seconds,
            memory_mib=max(self.section.memory_mib, suite.memory_mib or 0),
            output_bytes=max(least.output_bytes, 2 * len(trial.expected.encode(errors="replace")) + SPARE_BYTES),
        )
        if suite.entry:
            source = program if _FUTURE.search(program) else PRELUDE + program  # such an import must come first
            return Job(source=source, entry=suite.entry, arguments=trial.given, limits=limits)
        return Job(source=program, stdin=trial.given, limits=limits)


def broken(problem: str) -> Verdict:
    """The verdict where the judge itself failed."""
    return Verdict(score=0.0, passed=False, error=problem, kind=BROKEN)


def _kind(outcome: Outcome, suite: Suite, trial: Trial) -> str:
    if outcome.kind != "done":
        return _KINDS[outcome.kind]
    try:
        is_right = _returned(outcome, suite, trial) if suite.entry else same_stdout(outcome.stdout, trial.expected)
    except Exception:  # else a program could print itself out of the loss
        return WRONG
    return PASSED if is_right else WRONG


def _seen(outcome: Outcome, suite: Suite, trial: Trial) -> str:
    """What a test that failed showed, in a line; output of a program may be anything."""
    given = f"given {_short(trial.given)}"
    if outcome.kind != "done":
        return f"{given}: {_short(outcome.detail, 2 * MOST_LETTERS)[1:-1]}"
    found = f"returned {_short(outcome.result or '')}" if suite.entry else f"printed {_short(outcome.stdout)}"
    return f"{given}, expected {_short(trial.expected)}, {found}"


def _short(text: str, most: int = MOST_LETTERS) -> str:
    r"""In quotes, on one line, without what a terminal or a file could trip over.

    >>> _short("1\n2\n")
    "'1\\n2'"
    """
    text = text.strip()
    return repr(text if len(text) <= most else f"{text[:most]} …")


def _returned(outcome: Outcome, suite: Suite, trial: Trial) -> bool:
    """Whether a call returned what is expected; what is no JSON never is."""
    expected = parsed(trial.expected)
    try:
        given = parsed(outcome.result or "")
    except ValueError:
        return False
    is_wrapped = suite.may_be_wrapped and isinstance(expected, list) and len(expected) == 1
    return same_value(given, expected) or (is_wrapped and same_value(given, expected[0]))
