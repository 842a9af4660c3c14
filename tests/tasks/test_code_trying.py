"""Verdicts follow from what the sandbox says of each test; the sandbox here is a list of outcomes."""

import json

import pytest

from scalerl.recipe.tasks import Code as Section
from scalerl.records import VERDICT_KINDS, Verdict
from scalerl.sandbox import Job, Outcome
from scalerl.tasks.code_suite import Suite, Trial
from scalerl.tasks.code_trying import PRELUDE, Trying


class Sandbox:
    """Says what it was told to say, in order, and remembers what it was asked."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.jobs: list[Job] = []

    def run(self, job: Job) -> Outcome:
        self.jobs.append(job)
        return self.outcomes[len(self.jobs) - 1]


RIGHT, OTHER = Outcome(kind="done", stdout="1\n"), Outcome(kind="done", stdout="2\n")
ERROR, LATE = Outcome(kind="error"), Outcome(kind="time", detail="longer than 4 s")
BROKEN = Outcome(kind="broken", detail="the worker is gone")


def tried(*outcomes: Outcome, num_tests: int = 5, credit: str = "all") -> tuple[Verdict, int]:
    sandbox = Sandbox(*outcomes)
    suite = Suite(trials=(Trial(given="", expected="1"),) * num_tests)
    verdict = Trying(run=sandbox.run, section=Section(path="x", credit=credit)).verdict("pass", suite)
    return verdict, len(sandbox.jobs)


FIVE = [
    ([RIGHT] * 5, "passed", 1.0, 5, 1.0, 5),
    ([OTHER, RIGHT, RIGHT, RIGHT, RIGHT], "wrong", 0.0, 1, 0.8, 5),
    ([RIGHT, RIGHT, ERROR, OTHER, RIGHT], "runtime error", 0.0, 3, 0.6, 5),
    ([RIGHT, LATE, OTHER, RIGHT, RIGHT], "time", 0.0, 2, 0.6, 5),
    ([RIGHT, LATE, LATE, RIGHT, RIGHT], "time", 0.0, 2, 0.2, 3),  # the second that is late ends it
    ([OTHER, LATE, RIGHT, LATE, RIGHT], "wrong", 0.0, 1, 0.2, 4),
]


@pytest.mark.parametrize(("outcomes", "kind", "score", "num_run", "share", "num_run_for_share"), FIVE)
def test_all_or_a_share_of_five_tests(outcomes, kind, score, num_run, share, num_run_for_share):
    passed = kind == "passed"
    assert tried(*outcomes) == (Verdict(score=score, passed=passed, kind=kind), num_run)
    whole = Verdict(score=pytest.approx(share), passed=passed, kind=kind)
    assert tried(*outcomes, credit="share") == (whole, num_run_for_share)


HOSTILE = Outcome(kind="done", stdout="\x1b[2J\ud800" + "x" * 10_000)


@pytest.mark.parametrize(
    ("outcomes", "entry", "reason"),
    [
        ([RIGHT] * 3, "", ""),
        ([RIGHT, OTHER, ERROR], "", "test 2 of 3: given '7\\n8', expected '1', printed '2'"),
        ([RIGHT, RIGHT, LATE], "", "test 3 of 3: given '7\\n8': longer than 4 s"),
        ([Outcome(kind="done", result="[2]")], "f", "test 1 of 3: given '[7]', expected '1', returned '[2]'"),
        ([HOSTILE], "", f"test 1 of 3: given '7\\n8', expected '1', printed '\\x1b[2J\\ud800{'x' * 65} …'"),
        ([Outcome(kind="error", detail="Odd: a\nb" + "c" * 300)], "", f"given '7\\n8': Odd: a\\nb{'c' * 132} …"),
    ],
)
def test_the_reason_tells_of_the_first_test_that_failed(outcomes, entry, reason):
    """In one line that any terminal and any file can take, whatever a program printed."""
    suite = Suite(trials=(Trial(given="[7]" if entry else "7\n8\n", expected="1"),) * 3, entry=entry)
    for credit in ("all", "share"):
        run = Sandbox(*outcomes, RIGHT, RIGHT).run
        told = Trying(run=run, section=Section(path="x", credit=credit)).verdict("pass", suite).reason
        assert told.endswith(reason) and bool(told) == bool(reason)
        assert told.isprintable() and len(told.encode()) < 300


@pytest.mark.parametrize("credit", ["all", "share"])
@pytest.mark.parametrize("before", [[], [RIGHT, RIGHT]])
def test_a_sandbox_that_fails_is_an_error_of_the_judge(credit, before):
    verdict, _ = tried(*before, BROKEN, RIGHT, RIGHT, RIGHT, RIGHT, credit=credit)
    assert verdict == Verdict(score=0.0, passed=False, error="the worker is gone", kind="judge error")


def test_every_outcome_has_its_kind():
    kinds = ["done", "error", "time", "memory", "output", "forbidden", "broken"]
    found = [tried(Outcome(kind=kind, detail="x"), num_tests=1)[0].kind for kind in kinds]
    assert found == ["wrong", "runtime error", "time", "memory", "output", "forbidden", "judge error"]
    assert ["passed", *found] == list(VERDICT_KINDS)


class Clock:
    """Goes so many seconds further with every program that is run."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self.sandbox, self.seconds = sandbox, seconds

    def __call__(self) -> float:
        return 1000.0 + self.seconds * len(self.sandbox.jobs)


@pytest.mark.parametrize(
    ("outcomes", "credit", "kind", "score", "num_run"),
    [
        ([RIGHT] * 5, "all", "time", 0.0, 3),  # after 12 seconds the time of the answer is over
        ([RIGHT] * 5, "share", "time", 0.6, 3),
        ([RIGHT, OTHER, RIGHT, RIGHT, RIGHT], "share", "wrong", 0.4, 3),
        ([OTHER] * 5, "all", "wrong", 0.0, 1),
    ],
)
def test_all_tests_of_an_answer_have_a_limit_together(outcomes, credit, kind, score, num_run):
    sandbox = Sandbox(*outcomes)
    suite = Suite(trials=(Trial(given="", expected="1"),) * 5)
    section = Section(path="x", credit=credit, answer_seconds=10.0)
    verdict = Trying(run=sandbox.run, section=section, clock=Clock(sandbox, 4.0)).verdict("pass", suite)
    assert verdict == Verdict(score=pytest.approx(score), passed=False, kind=kind)
    assert len(sandbox.jobs) == num_run


def test_tests_that_end_in_time_are_all_run():
    sandbox = Sandbox(*[RIGHT] * 5)
    suite = Suite(trials=(Trial(given="", expected="1"),) * 5)
    section = Section(path="x", answer_seconds=16.5)
    assert Trying(run=sandbox.run, section=section, clock=Clock(sandbox, 4.0)).verdict("pass", suite).passed


@pytest.mark.parametrize("error", [ArithmeticError, RecursionError, MemoryError, ValueError])
def test_output_that_cannot_be_compared_is_wrong_and_no_error_of_the_judge(error, monkeypatch):
    def fails(*_):
        raise error

    monkeypatch.setattr("scalerl.tasks.code_trying.same_stdout", fails)
    monkeypatch.setattr("scalerl.tasks.code_trying.same_value", fails)
    assert tried(RIGHT)[0] == Verdict(score=0.0, passed=False, kind="wrong")
    assert not called("1", 1)


def test_a_million_digits_are_wrong():
    sandbox = Sandbox(Outcome(kind="done", stdout="9" * 1_000_001))
    suite = Suite(trials=(Trial(given="", expected="0.5"),))
    verdict = Trying(run=sandbox.run, section=Section(path="x")).verdict("pass", suite)
    assert verdict == Verdict(score=0.0, passed=False, kind="wrong")
    assert not called("9" * 1_000_001, 0.5)


@pytest.mark.parametrize(
    ("program", "has_prelude"),
    [
        ("from __future__ import annotations\nx = 1", False),
        ("# a comment\nfrom  __future__ import annotations", False),
        ("x = '__future__'", True),
        ("# needs no from __future__ import", True),
        ("x = 1", True),
    ],
)
def test_names_are_imported_before_a_program_unless_that_must_come_first(program, has_prelude):
    sandbox = Sandbox(Outcome(kind="done", result="1"))
    suite = Suite(trials=(Trial(given="[]", expected="1"),), entry="f")
    Trying(run=sandbox.run, section=Section(path="x")).verdict(program, suite)
    assert sandbox.jobs[0].source == (PRELUDE + program if has_prelude else program)


def called(result: str | None, expected: object, *, may_be_wrapped: bool = False) -> bool:
    sandbox = Sandbox(Outcome(kind="done", result=result, stdout="noise"))
    trial = Trial(given="[1]", expected=json.dumps(expected))
    suite = Suite(trials=(trial,), entry="f", may_be_wrapped=may_be_wrapped)
    verdict = Trying(run=sandbox.run, section=Section(path="x")).verdict("pass", suite)
    assert sandbox.jobs[0].entry == "f" and sandbox.jobs[0].arguments == "[1]" and not sandbox.jobs[0].stdin
    return verdict.passed


def test_what_calls_return_is_compared_by_value():
    assert called("[1, 2.0]", [1.0, 2]) and not called("[1, 2]", [2, 1]) and called("null", None)
    assert not called(None, None) and not called("", 1) and not called("[" * 10_000, []) and not called("NaN", 1)


def test_results_of_apps_may_stand_in_a_list_of_one():
    assert called("3", [3], may_be_wrapped=True) and called("[3]", [3], may_be_wrapped=True)
    assert not called("3", [3]) and not called("1", [1, 2], may_be_wrapped=True)


def test_the_expected_output_never_enters_the_sandbox():
    sandbox = Sandbox(RIGHT)
    suite = Suite(trials=(Trial(given="in", expected="secret"),))
    Trying(run=sandbox.run, section=Section(path="x")).verdict("pass", suite)
    assert "secret" not in repr(sandbox.jobs)


def test_limits_are_the_rows_where_it_has_some():
    section = Section(path="x", seconds=3.0, memory_mib=256)
    long = "1" * 2_000_000

    def limits(**own):
        sandbox = Sandbox(RIGHT)
        Trying(run=sandbox.run, section=section).verdict(
            "pass", Suite(trials=(Trial(given="", expected=long),), **own)
        )
        return sandbox.jobs[0].limits

    assert (limits().seconds, limits().memory_mib) == (3.0, 256)
    assert (limits(seconds=9.0).seconds, limits(memory_mib=64).memory_mib) == (9.0, 256)
    assert limits(memory_mib=1024).memory_mib == 1024
    assert limits().output_bytes >= 2 * len(long)  # else a right answer could be too long
