"""Code: prompts without their tests, verdicts of real programs in the real sandbox, the same in every process."""

import json
import pickle
import subprocess
import sys
import threading

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Chain, Maths, Mixture, Part
from scalerl.recipe.tasks import Code as Section
from scalerl.records import Prompt, Verdict
from scalerl.sandbox import unavailable
from scalerl.tasks.building import task_of
from scalerl.tasks.controls import training_judge
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer

needs_sandbox = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def adding(number, **more):
    tests = [{"stdin": f"{n}\n", "stdout": f"{n + number}\n"} for n in range(4)]
    return {"id": f"add-{number}", "prompt": f"Add {number} to a number.", "tests": tests, **more}


def block(program):
    return Answer(text=f"So:\n```python\n{program}\n```\nDone.")


ADD_THREE = "print(int(input()) + 3)"


@pytest.fixture
def path(tmp_path):
    return lines(tmp_path / "train.jsonl", [adding(number, difficulty=number % 2) for number in range(20)])


@needs_sandbox
def test_prompts_carry_a_digest_and_an_instruction(path):
    task = task_of(Section(path=path), num_held_out=5)
    prompts = {prompt.id: prompt for prompt in (*task.prompts(), *task.held_out(5))}
    assert len(task.prompts()) == 15 and len(task.held_out(5)) == 5 and len(prompts) == 20
    one = prompts["code:add-3"]
    assert one.text == (
        "Add 3 to a number.\n\nWrite a program that reads standard input and writes to standard output. "
        "Put the Python code into a fenced block (```); the last one counts."
    )
    assert list(one.answer) == ["tests"] and len(one.answer["tests"]) == 16 and one.difficulty == "1"
    assert len({prompt.answer["tests"] for prompt in prompts.values()}) == 20


@needs_sandbox
def test_the_instruction_is_the_recipes_and_chooses_nothing(path, tmp_path):
    plain = task_of(Section(path=path, instruction=""), num_held_out=5)
    asked = task_of(Section(path=path, instruction="In one line!"), num_held_out=5)
    assert [one.id for one in plain.held_out(5)] == [one.id for one in asked.held_out(5)]
    assert [f"{one.text}\n\nIn one line!" for one in plain.prompts()] == [one.text for one in asked.prompts()]
    starter = "class Solution:\n    def twice(self, x):"
    call = {
        "prompt": "Twice.",
        "entry": "twice",
        "starter_code": starter,
        "tests": [{"arguments": [2], "result": 4}],
    }
    plain = task_of(Section(path=lines(tmp_path / "a.jsonl", [call])), num_held_out=0)
    assert plain.prompts()[0].text.startswith(
        f"Twice.\n\nStarter code:\n```python\n{starter}\n```\n\n"
        "Write the class `Solution` with the method `twice`. "
    )


KINDS = {
    ADD_THREE: "passed",
    "print(int(input()) + 2)": "wrong",
    "": "wrong",
    "print(1 / 0)": "runtime error",
    "print(": "runtime error",
    "while True: pass": "time",
    "x = 'a' * 10**10": "memory",
    "while True: print('a' * 1000)": "output",
    "import os\nos.system('true')": "forbidden",
}


@needs_sandbox
def test_real_programs_and_their_kinds_in_order_with_any_number_of_threads(path):
    task = task_of(Section(path=path, seconds=1.0), num_held_out=0)
    prompt = next(one for one in task.prompts() if one.id == "code:add-3")
    asked = [(prompt, block(program)) for program in KINDS]
    expected = [
        Verdict(score=float(kind == "passed"), passed=kind == "passed", kind=kind) for kind in KINDS.values()
    ]
    for workers in (1, 3):
        with Judge(task, workers=workers) as judge:
            assert judge.judge_all(asked) == expected
            assert judge.judge_all(asked[:1]) == expected[:1]


@needs_sandbox
def test_the_last_block_counts_and_none_is_wrong(path):
    task = task_of(Section(path=path), num_held_out=0)
    prompt = next(one for one in task.prompts() if one.id == "code:add-3")
    with Judge(task) as judge:
        verdicts = judge.judge_all(
            [
                (prompt, Answer(text=f"```\nprint(0)\n```\n```\n{ADD_THREE}\n```")),
                (prompt, Answer(text=f"```\n{ADD_THREE}\n```\n```\nprint(0)\n```")),
                (prompt, Answer(text=ADD_THREE, thinking=f"```\n{ADD_THREE}\n```")),
            ]
        )
    assert [one.kind for one in verdicts] == ["passed", "wrong", "wrong"] and not any(one.error for one in verdicts)


@needs_sandbox
def test_functions_and_methods_are_called(tmp_path):
    tests = [{"arguments": [[3, 1, 2], True], "result": [3, 2, 1]}, {"arguments": [[], False], "result": []}]
    row = {"prompt": "Sort.", "entry": "order", "tests": tests}
    task = task_of(Section(path=lines(tmp_path / "a.jsonl", [row])), num_held_out=0)
    programs = [
        "def order(items, down): return sorted(items, reverse=down)",
        "class Solution:\n    def order(self, items, down):\n        return tuple(sorted(items, reverse=down))",
        "def order(items, down): return sorted(items)",
        "def arrange(items, down): return sorted(items, reverse=down)",
        "def order(items: List[int], down: bool) -> Optional[List[int]]: return heapq.nlargest(9, items)",
        "from __future__ import annotations\ndef order(items: List[int], down): return sorted(items)[::-1]",
    ]
    with Judge(task, workers=2) as judge:
        verdicts = judge.judge_all([(task.prompts()[0], block(program)) for program in programs])
    kinds = ["passed", "passed", "wrong", "runtime error", "passed", "passed"]
    assert [one.kind for one in verdicts] == kinds


@needs_sandbox
def test_a_share_of_the_tests(path):
    task = task_of(Section(path=path, credit="share"), num_held_out=0)
    prompt = next(one for one in task.prompts() if one.id == "code:add-3")
    with Judge(task) as judge:
        (verdict,) = judge.judge_all([(prompt, block("n = int(input())\nprint(n + 3 if n else 'no')"))])
    assert verdict == Verdict(score=0.75, passed=False, kind="wrong")


@needs_sandbox
def test_only_so_many_tests_are_run(tmp_path):
    tests = [{"stdin": "1", "stdout": "2"}, {"stdin": "100", "stdout": "no"}, {"stdin": "20", "stdout": "21"}]
    row = {"prompt": "Next.", "tests": tests}
    path = lines(tmp_path / "a.jsonl", [row])
    for most, kind in ((1, "wrong"), (0, "wrong")):
        task = task_of(Section(path=path, most_tests=most), num_held_out=0)
        with Judge(task) as judge:
            assert judge.judge_all([(task.prompts()[0], block("print(int(input()) + 1)"))])[0].kind == kind
    task = task_of(Section(path=path, most_tests=1), num_held_out=0)
    with Judge(task) as judge:
        assert judge.judge_all([(task.prompts()[0], block("print('no')"))])[0].passed


@needs_sandbox
def test_a_process_that_judges_reads_the_tests_itself(path):
    task = task_of(Section(path=path), num_held_out=5)
    prompt = next(one for one in (*task.prompts(), *task.held_out(5)) if one.id == "code:add-3")
    carried = pickle.dumps(task)
    assert len(carried) < 1000
    with Judge(pickle.loads(carried), workers=3) as judge:
        assert all(one.passed for one in judge.judge_all([(prompt, block(ADD_THREE))] * 3))


@needs_sandbox
def test_tests_that_are_not_there_are_an_error_of_the_judge(path):
    task = task_of(Section(path=path), num_held_out=0)
    prompt = Prompt(id="code:gone", task="code", text="?", answer={"tests": "0123456789abcdef"})
    with Judge(task) as judge:
        gone, odd = judge.judge_all(
            [
                (prompt, block("print(1)")),
                (Prompt(id="code:odd", task="code", text="?", answer=3), block("print(1)")),
            ]
        )
    assert (gone.kind, gone.passed, odd.kind) == ("judge error", False, "judge error")
    assert gone.error == f"LookupError: the tests 0123456789abcdef of code:gone are not in {path}; was it changed?"


@needs_sandbox
def test_rows_that_cannot_be_used_are_refused_or_left_out_and_counted(tmp_path):
    rows = [adding(1), {"prompt": "Nothing."}, adding(2), {**adding(3), "tests": []}, {**adding(1), "id": "again"}]
    path = lines(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError, match=r"a.jsonl, line 2: has the columns prompt; expected .*our own"):
        task_of(Section(path=path), num_held_out=0).prompts()
    with pytest.warns(UserWarning) as told:
        found = task_of(Section(path=path, unusable="skip"), num_held_out=0).prompts()
    assert [one.id for one in found] == ["code:add-1", "code:add-2"]
    words = [str(one.message) for one in told]
    assert "2 rows are left out, the first: " in words[0] and "line 2: has the columns" in words[0]
    assert "1 repeated questions are asked once" in words[1]


@needs_sandbox
def test_rows_that_no_reader_expects_are_left_out_too(tmp_path):
    deep = json.loads("[" * 300 + "]" * 300)
    call = {"prompt": "Call.", "entry": "f"}
    rows = [
        {**adding(4), "seconds": 10**400},
        {**adding(5), "prompt": "\ud800"},
        {**adding(6), "tests": [{"stdin": "\ud800", "stdout": "1"}]},
        {**call, "tests": [{"arguments": [deep], "result": 1}]},
    ]
    path = lines(tmp_path / "a.jsonl", [adding(1), *rows])
    with pytest.warns(UserWarning, match=r"4 rows are left out, the first: .*a.jsonl, line 2: allows 1000"):
        found = task_of(Section(path=path, unusable="skip"), num_held_out=0).prompts()
    assert [one.id for one in found] == ["code:add-1"]


@needs_sandbox
def test_what_is_not_run_in_the_time_of_an_answer_has_failed(path):
    task = task_of(Section(path=path, credit="share", answer_seconds=0.5), num_held_out=0)
    prompt = next(one for one in task.prompts() if one.id == "code:add-3")
    with Judge(task) as judge:
        (verdict,) = judge.judge_all([(prompt, block(f"import time\ntime.sleep(0.6)\n{ADD_THREE}"))])
    assert verdict == Verdict(score=0.25, passed=False, kind="time")


@needs_sandbox
def test_the_same_problem_with_other_tests_is_refused(tmp_path):
    other = {**adding(1), "id": "other", "tests": adding(2)["tests"]}
    path = lines(tmp_path / "a.jsonl", [adding(1), other])
    with pytest.raises(InputError, match=r"a.jsonl, line 2: asks what line 1 in .*a.jsonl asks, with the answer"):
        task_of(Section(path=path), num_held_out=0).prompts()


@needs_sandbox
def test_a_held_out_file_is_kept_apart(path, tmp_path):
    test = lines(tmp_path / "test.jsonl", [adding(number) for number in range(30, 33)])
    task = task_of(Section(path=path, held_out_path=test), num_held_out=100)
    assert len(task.prompts()) == 20 and {one.id for one in task.held_out(100)} == {
        f"code:held-out/add-{number}" for number in (30, 31, 32)
    }
    prompt = task.held_out(1)[0]
    number = prompt.id.rpartition("-")[2]
    with Judge(task) as judge:
        assert judge.judge_all([(prompt, block(f"print(int(input()) + {number})"))])[0].passed
    both = lines(tmp_path / "both.jsonl", [adding(number) for number in (3, 40)])
    with pytest.raises(InputError, match=r"both.jsonl: 1 held-out questions are also in .*train.jsonl"):
        task_of(Section(path=path, held_out_path=both), num_held_out=1).prompts()


@needs_sandbox
def test_closing_ends_the_workers_and_the_next_answer_starts_them(path):
    task = task_of(Section(path=path), num_held_out=0)
    prompt = next(one for one in task.prompts() if one.id == "code:add-3")
    before = set(threading.enumerate())
    for _ in range(2):
        with Judge(task, workers=2) as judge:
            assert all(one.passed for one in judge.judge_all([(prompt, block(ADD_THREE))] * 4))
        assert set(threading.enumerate()) <= before
    task.close()


@needs_sandbox
def test_a_control_runs_nothing(path):
    task = task_of(Section(path=path), num_held_out=0)
    with Judge(training_judge(task, "format"), workers=2) as judge:
        assert judge.judge_all([(task.prompts()[0], Answer(text="anything"))]) == [Verdict(score=1.0, passed=True)]


def parts(path, maths):
    return Mixture(
        parts=(
            Part(name="sums", weight=3, task=maths),
            Part(name="programs", task=Section(path=path)),
            Part(name="digits", task=Chain(num_prompts=10)),
        )
    )


@needs_sandbox
def test_a_mixture_judges_code_in_threads_maths_apart_and_chains_here(path, tmp_path):
    pytest.importorskip("math_verify")
    questions = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(20)]
    maths = Maths(path=lines(tmp_path / "maths.jsonl", questions))
    task = task_of(parts(path, maths), num_held_out=2)
    by_task = {name: [one for one in task.prompts() if one.task == name] for name in ("sums", "programs", "digits")}
    program = next(one for one in by_task["programs"] if one.id == "programs:code:add-3")
    right = {
        "sums": (by_task["sums"][0], Answer(text=by_task["sums"][0].answer)),
        "programs": (program, block(ADD_THREE)),
        "digits": (by_task["digits"][0], Answer(text=str(by_task["digits"][0].answer["digit"]))),
    }
    wrong = {name: (prompt, Answer(text="nothing")) for name, (prompt, _) in right.items()}
    asked = [which[name] for _ in range(3) for name in right for which in (right, wrong)]
    with Judge(task, workers=2) as judge:
        verdicts = judge.judge_all(asked)
    assert [one.passed for one in verdicts] == [True, False] * 9 and not any(one.error for one in verdicts)
    assert [one.kind for one in verdicts[:6]] == ["", "", "passed", "wrong", "", ""]
    assert task.shares(10) == {"sums": 6, "programs": 2, "digits": 2}


REFUSAL = """
import os, sys
os.environ["PATH"] = sys.argv[2]
from scalerl.cli import run
sys.exit(run(["train", "demo", "--plain", "--run", sys.argv[2] + "/run", "--set", "task.kind=code", "--set",
              "task.path=" + sys.argv[1]]))
"""


def test_without_isolation_a_run_does_not_start_and_says_what_to_install(path, tmp_path):
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-c", REFUSAL, path, str(tmp_path / "empty")]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 2 and found.stderr.count("\n") == 1, found.stderr
    assert "bubblewrap" in found.stderr and "install" in found.stderr
    assert not (tmp_path / "empty" / "run").exists()


def test_an_empty_path_is_refused():
    with pytest.raises(InputError, match=r"task.path is empty; expected a file or folder with problems and tests"):
        task_of(Section(), num_held_out=0)
