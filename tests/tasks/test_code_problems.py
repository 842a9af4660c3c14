"""The shipped programming problems: what their script makes, solved by its programs and by no wrong one."""

import json
import sys
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

from scalerl.sandbox import Job, Sandbox

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "scalerl" / "demo_code"


sys.path.append(str(ROOT / "examples"))
script = import_module("make_code_problems")
HELD_OUT, TRAIN = (
    [json.loads(line) for line in (SHIPPED / f"{name}.jsonl").read_text().splitlines()]
    for name in ("held_out", "train")
)
FIRST = [problem for problem, _ in islice(script.problems(seed=0), 60)]


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as found:
        yield found


def passes(sandbox, program, row):
    return all(passes_one(sandbox, program, row.get("entry", ""), test) for test in row["tests"])


def passes_one(sandbox, program, entry, test):
    if entry:
        outcome = sandbox.run(Job(source=program, entry=entry, arguments=json.dumps(test["arguments"])))
        return outcome.kind == "done" and json.loads(outcome.result) == test["result"]
    outcome = sandbox.run(Job(source=program, stdin=test["stdin"]))
    return outcome.kind == "done" and outcome.stdout == test["stdout"]


def test_the_files_are_what_the_script_makes():
    made = [script.row(*one) for one in islice(script.problems(seed=0), len(HELD_OUT) + 60)]
    assert HELD_OUT + TRAIN[:60] == made
    assert len(HELD_OUT) == script.SIZES["held_out"] and len(TRAIN) == script.SIZES["train"]


def test_problems_are_different_and_of_every_difficulty():
    rows = HELD_OUT + TRAIN
    assert len({row["prompt"] for row in rows}) == len(rows)
    assert {row["difficulty"] for row in HELD_OUT} == {row["difficulty"] for row in TRAIN} == set("123456")
    assert 0.2 < sum("entry" in row for row in rows) / len(rows) < 0.4


def test_no_constant_answer_passes_a_problem():
    for row in HELD_OUT + TRAIN:
        answers = [json.dumps(test.get("result", test.get("stdout"))) for test in row["tests"]]
        assert len(answers) >= 3 and len(set(answers)) == len(answers)


@pytest.mark.parametrize("is_short", [True, False])
def test_every_solution_passes_in_the_sandbox(sandbox, is_short):
    for problem, row in zip(FIRST, HELD_OUT, strict=False):
        assert passes(sandbox, problem.program(is_short), row), problem.statement


def test_wrong_programs_fail_in_the_sandbox(sandbox):
    for problem, row in list(zip(FIRST, HELD_OUT, strict=False))[:24]:
        for other in script.wrong(problem):
            assert not passes(sandbox, other.program(), row), (problem.statement, other.program())


def test_both_ways_to_write_a_step_do_the_same():
    for problem in FIRST:
        inputs = [problem.kind.drawn(script.Random(seed)) for seed in range(8)]
        assert script.results(problem, inputs, is_short=True) == script.results(problem, inputs, is_short=False)
