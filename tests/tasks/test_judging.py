"""The judge gives a verdict for every answer in order, whatever a task's code does to its process."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Chain, Maths, Mixture, Part
from scalerl.recipe.tasks import Python as Section
from scalerl.records import Prompt, Verdict
from scalerl.tasks import apart
from scalerl.tasks.apart import Apart
from scalerl.tasks.building import task_of
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer

EVIL = """
import ctypes, os, re, sys, time
from pathlib import Path
from scalerl.errors import InputError
from scalerl.records import Prompt, Verdict

class Evil:
    name = "evil"
    def __init__(self, seconds=None):
        if seconds is not None:
            self.seconds = seconds
    def prompts(self): return [Prompt(id="evil:1", task="evil", text="?", answer=None)]
    def held_out(self, count):
        return [Prompt(id=f"evil:{-n}", task="evil", text=str(n), answer=n) for n in range(count)]
    def judge(self, prompt, answer):
        deed, _, place = answer.text.partition(" ")
        if deed == "pid": Path(place).write_text(str(os.getpid()))
        if deed == "power": 9**9**9
        if deed == "regex": re.match(r"(a+)+$", "a" * 80 + "b")
        if deed == "sleep": time.sleep(1000)
        if deed == "raise": raise ValueError("no such number")
        if deed == "refuse": raise InputError("not this one")
        if deed == "kill": os.kill(os.getpid(), 9)
        if deed == "exit": sys.exit(3)
        if deed == "crash": ctypes.string_at(0)
        if deed == "memory": bytearray(2**40)
        if deed == "print": print("x" * 10**6, file=sys.stderr); print("y" * 10**6); sys.stdin.read()
        if deed == "nothing": return None
        if deed == "odd": return lambda: 0
        if deed == "two": return Verdict(score=2.0, passed=True)
        if deed == "nan": return Verdict(score=float("nan"), passed=True)
        if deed == "heavy": return Verdict(score=float("torch" not in sys.modules), passed=True)
        return Verdict(score=0.25, passed=True)
"""
PROMPT = Prompt(id="evil:1", task="evil", text="?", answer=None)
FINE = Verdict(score=0.25, passed=True)


def evil(tmp_path, **options):
    file = tmp_path / "evil.py"
    file.write_text(EVIL)
    return task_of(Section(path=f"{file}:Evil", options=options), num_held_out=1)


def judged(task, *texts, workers=1):
    with Judge(task, workers=workers) as judge:
        return judge.judge_all([(PROMPT, Answer(text=text)) for text in texts])


@pytest.mark.parametrize("text", ["power", "regex", "sleep"])
def test_an_answer_that_never_ends_is_an_error_and_the_rest_goes_on(text, tmp_path):
    began = time.monotonic()
    verdicts = judged(evil(tmp_path, seconds=1.5), "fine", text, "fine")
    assert verdicts == [FINE, Verdict(score=0, passed=False, error="timed out after 1.5 s"), FINE]
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("raise", "ValueError: no such number"),
        ("refuse", "not this one"),
        ("kill", "its process ended (signal 9)"),
        ("exit", "its process ended (exit code 3)"),
        ("crash", "its process ended (signal 11)"),
        ("memory", "MemoryError: "),
        ("nothing", "the judge returned None; expected a Verdict"),
        ("two", "the judge gave the score 2.0; expected 0 to 1"),
        ("nan", "the judge gave the score nan; expected 0 to 1"),
    ],
)
def test_a_judge_that_fails_is_an_error_and_the_rest_goes_on(text, error, tmp_path):
    verdicts = judged(evil(tmp_path, seconds=20), "fine", text, "fine")
    assert verdicts == [FINE, Verdict(score=0, passed=False, error=error), FINE]


def test_a_verdict_that_cannot_be_sent_is_an_error(tmp_path):
    first, second = judged(evil(tmp_path, seconds=20), "odd", "fine")
    assert "pickle" in first.error and second == FINE


def test_what_a_judge_prints_or_reads_reaches_nobody(tmp_path, capfd):
    assert judged(evil(tmp_path, seconds=20), "print") == [FINE]
    assert capfd.readouterr() == ("", "")


def test_the_process_loads_no_torch(tmp_path):
    assert judged(evil(tmp_path, seconds=20), "heavy")[0].score == 1.0


def test_without_a_limit_a_task_is_judged_here(tmp_path):
    place = tmp_path / "pid"
    verdicts = judged(evil(tmp_path), f"pid {place}", "raise", "nothing")
    assert int(place.read_text()) == os.getpid() and verdicts[0] == FINE
    assert [one.error for one in verdicts[1:]] == [
        "ValueError: no such number", "the judge returned None; expected a Verdict",
    ]  # fmt: skip


def test_several_workers_keep_the_order(tmp_path):
    texts = ["fine", "raise", "sleep", "fine", "kill", "sleep", "fine", "raise"]
    alone = judged(evil(tmp_path, seconds=1.5), *texts)
    assert judged(evil(tmp_path, seconds=1.5), *texts, workers=3) == alone
    assert [bool(one.error) for one in alone] == [False, True, True, False, True, True, False, True]


def test_a_mixture_judges_each_part_where_it_should(tmp_path):
    evil(tmp_path)
    parts = (
        Part(name="digits", task=Chain(num_prompts=4)),
        Part(name="evil", task=Section(path=f"{tmp_path / 'evil.py'}:Evil", options={"seconds": 20.0})),
    )
    task = task_of(Mixture(parts=parts), num_held_out=2)
    digits, bad = task.prompts()[:2], task.prompts()[-1]
    right = [Answer(text=str(prompt.answer["digit"])) for prompt in digits]
    asked = [(digits[0], right[0]), (bad, Answer(text=f"pid {tmp_path / 'pid'}")), (digits[1], right[1])]
    with Judge(task) as judge:
        verdicts = judge.judge_all(asked)
    assert verdicts == [Verdict(score=1, passed=True), FINE, Verdict(score=1, passed=True)]
    assert int((tmp_path / "pid").read_text()) != os.getpid()


class Meeting:
    """A judge that goes on only when so many answers are judged at once, and then lets the last one go first."""

    name = "meeting"

    def __init__(self, count):
        self.barrier = threading.Barrier(count)
        self.gone = [threading.Event() for _ in range(count)]
        self.is_closed = False

    def judge(self, prompt, answer):
        at = int(answer.text)
        self.barrier.wait(timeout=60)
        if at + 1 < len(self.gone):
            assert self.gone[at + 1].wait(timeout=60)
        self.gone[at].set()
        return Verdict(score=at / 10, passed=False, kind=f"kind {at}")

    def waits(self, prompt):
        return True

    def close(self):
        self.is_closed = True


def test_judges_that_wait_are_asked_at_once_and_told_in_order():
    task = Meeting(4)
    with Judge(task, workers=4) as judge:
        verdicts = judge.judge_all([(PROMPT, Answer(text=str(at))) for at in range(4)])
        assert not task.is_closed
    assert verdicts == [Verdict(score=at / 10, passed=False, kind=f"kind {at}") for at in range(4)]
    assert task.is_closed


def test_one_worker_asks_a_judge_that_waits_one_answer_after_the_other():
    task = Meeting(1)
    with Judge(task) as judge:
        verdicts = [judge.judge_all([(PROMPT, Answer(text=text))])[0] for text in ("0", "no number")]
    assert verdicts[0].kind == "kind 0" and verdicts[1].error.startswith("ValueError: invalid literal")


def test_what_waits_is_judged_in_the_background_and_a_quick_one_at_once():
    task = Meeting(2)
    with Judge(task, workers=2) as judge:
        one = judge.begin(PROMPT, Answer(text="0"))
        assert not one.done()
        other = judge.begin(PROMPT, Answer(text="1"))
        assert (one.result(60).kind, other.result(60).kind) == ("kind 0", "kind 1")
    with Judge(task_of(Chain(num_prompts=4), num_held_out=2)) as judge:
        assert judge.begin(judge.task.prompts()[0], Answer(text="no digit")).done()


def test_close_leaves_out_what_nobody_has_begun_to_judge():
    task = Meeting(2)
    judge = Judge(task)
    first, second, third = (judge.begin(PROMPT, Answer(text="1")) for _ in range(3))
    while not first.running():
        time.sleep(0.01)
    threading.Timer(0.3, lambda: task.barrier.wait(timeout=60)).start()
    judge.close()
    assert first.done() and not first.cancelled() and second.cancelled() and third.cancelled()
    assert task.is_closed and not [one for one in threading.enumerate() if one.name.startswith("judge")]


def test_maths_cannot_hang_the_loop(tmp_path):
    pytest.importorskip("math_verify")
    task = task_of(Maths(path=str(tmp_path / "unread.jsonl"), seconds=2.0), num_held_out=0)
    prompt = Prompt(id="maths:1", task="maths", text="?", answer="42")
    tower = r"\boxed{9^{9^{9^{9}}} + \sqrt{9^{9^{9}}}}"
    with Judge(task) as judge:
        right, hung, wrong = judge.judge_all([(prompt, Answer(text=text)) for text in (r"\boxed{42}", tower, "41")])
    assert right == Verdict(score=1, passed=True) and wrong == Verdict(score=0, passed=False)
    assert hung == Verdict(score=0, passed=False, error="timed out after 2 s")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_within(seconds: float, pid: int) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and is_running(pid):
        time.sleep(0.05)
    return not is_running(pid)


def test_close_ends_the_process_and_the_next_question_starts_one(tmp_path):
    task, place = evil(tmp_path, seconds=20), tmp_path / "pid"
    judge = Judge(task)
    asked = [(PROMPT, Answer(text=f"pid {place}"))]
    pids = []
    for _ in range(2):
        assert judge.judge_all(asked) == [FINE]
        pids.append(int(place.read_text()))
        judge.close()
        assert not is_running(pids[-1])
    judge.close()
    assert pids[0] != pids[1]


def test_close_breaks_off_what_is_being_judged_and_leaves_out_what_waits(tmp_path):
    task, place = evil(tmp_path, seconds=600), tmp_path / "pid"
    judge = Judge(task)
    judge.judge_all([(PROMPT, Answer(text=f"pid {place}"))])
    hung, later = (judge.begin(PROMPT, Answer(text=text)) for text in ("sleep", "fine"))
    while not hung.running():
        time.sleep(0.01)
    began = time.monotonic()
    judge.close()
    assert time.monotonic() - began < 60 and not is_running(int(place.read_text()))
    assert hung.result().error == "its process ended (signal 9)" and later.cancelled()
    assert judge.judge_all([(PROMPT, Answer(text="fine"))]) == [FINE]
    judge.close()


def test_a_process_that_is_killed_while_it_starts_is_not_started_again(tmp_path):
    process = Apart(evil(tmp_path, seconds=600))
    process.kill()
    with pytest.raises(ChildProcessError, match="closed"):
        process.ask("judge", PROMPT, Answer(text="fine"), seconds=60)
    process.close()
    assert process.ask("judge", PROMPT, Answer(text="fine"), seconds=60) == FINE
    process.close()


def test_a_process_lost_while_idle_costs_no_answer(tmp_path):
    task, place = evil(tmp_path, seconds=20), tmp_path / "pid"
    with Judge(task) as judge:
        judge.judge_all([(PROMPT, Answer(text=f"pid {place}"))])
        os.kill(int(place.read_text()), signal.SIGKILL)
        assert ends_within(10, int(place.read_text()))
        assert judge.judge_all([(PROMPT, Answer(text="fine"))] * 2) == [FINE, FINE]


def test_a_process_that_takes_no_question_is_late(tmp_path, monkeypatch):
    """A long one: a short one fits into the socket between."""
    monkeypatch.setattr(apart, "STALL_SECONDS", 1)
    task, place = evil(tmp_path, seconds=20), tmp_path / "pid"
    with Judge(task) as judge:
        judge.judge_all([(PROMPT, Answer(text=f"pid {place}"))])
        os.kill(int(place.read_text()), signal.SIGSTOP)
        verdicts = judge.judge_all(
            [(PROMPT, Answer(text="fine " + "x" * (1 << 21))), (PROMPT, Answer(text="fine"))]
        )
    assert verdicts[0].error == "takes no question after 1 s"
    assert verdicts[1] == FINE


PARENT = """
import sys
from scalerl.recipe.tasks import Python
from scalerl.records import Prompt
from scalerl.tasks.building import task_of
from scalerl.tasks.judging import Judge
from scalerl.tasks.task import Answer
judge = Judge(task_of(Python(path=sys.argv[1] + ":Evil", options={"seconds": 3.0}), num_held_out=1))
for text in sys.argv[2:]:
    judge.judge_all([(Prompt(id="evil:1", task="evil", text="?", answer=None), Answer(text=text))])
    print("judged", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("deeds", [[], ["power"]])
def test_the_process_ends_when_its_parent_is_killed_even_inside_a_c_function(deeds, tmp_path):
    evil(tmp_path)
    place = tmp_path / "pid"
    command = [sys.executable, "-c", PARENT, str(tmp_path / "evil.py"), f"pid {place}", *deeds]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        pid = int(place.read_text())
        time.sleep(0.3)  # so that it is in the middle of its next deed, if there is one
        assert is_running(pid)
        parent.kill()
    assert ends_within(20, pid)


def test_a_process_that_cannot_start_stops_the_run_with_the_reason(tmp_path):
    task = evil(tmp_path, seconds=20)
    (tmp_path / "evil.py").write_text("raise OSError('gone')")
    with Judge(task) as judge, pytest.raises(InputError, match=r"evil.py: cannot be run: OSError: gone"):
        judge.judge_all([(PROMPT, Answer(text="fine"))])


class Unloadable:
    def __reduce__(self):
        return os.getcwd, ("too", "many")


def test_a_copy_that_cannot_be_made_is_no_verdict():
    with pytest.raises(RuntimeError, match="a process for judging cannot be started: TypeError"):
        Apart(Unloadable()).ask("anything", seconds=5)
