"""Judges work beside the engine and the trainer, and how long they take changes nothing but the time."""

import itertools
import random
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_runs import evals, lines, recipe, resumed, same_weights, trained

from scalerl.compute import Ledger
from scalerl.errors import InputError
from scalerl.pipeline.running import start
from scalerl.rollout.generator import Generator
from scalerl.run.groups import read_groups
from scalerl.tasks.building import task_of
from scalerl.tasks.chain import Chain

EPOCHS = ("task.num_prompts=8", "batch.prompts=3", "curriculum.threshold=0.5", "steps=12", "evaluation.every=4")


@pytest.fixture
def delay(monkeypatch):
    """Chains are judged in the background, and each answer first waits for what the test says."""
    judge = Chain.judge

    def set_to(wait):
        def judged(self, prompt, answer):
            wait(prompt)
            return judge(self, prompt, answer)

        monkeypatch.setattr(Chain, "judge", judged)
        monkeypatch.setattr(Chain, "waits", lambda self, prompt: True, raising=False)
        monkeypatch.setattr(Chain, "close", lambda self: None, raising=False)

    return set_to


def at_random(_):
    time.sleep(random.choice((0, 0, 0.002, 0.01)))


def told(place):
    """What the metrics say that does not hang on the clock."""
    timed = ("seconds/", "speed/", "compute/gpu_hours", "memory/")
    return [
        {key: value for key, value in line.items() if not key.startswith(timed)}
        for line in lines(place, "metrics.jsonl")
    ]


@pytest.mark.parametrize("judges", [1, 3])
@pytest.mark.parametrize("changes", [("off_policy.k=2",), EPOCHS, ("off_policy.kind=phased", "off_policy.k=2")])
def test_a_run_is_the_same_however_long_judges_take(changes, judges, delay, tmp_path):
    """Epochs too: which prompts have become easy is asked when all verdicts so far are there."""
    trained(tmp_path / "quick", *changes)
    delay(at_random)
    trained(tmp_path / "slow", *changes, f"runtime.judges={judges}")
    assert same_weights(tmp_path / "quick", tmp_path / "slow")
    assert evals(tmp_path / "quick") == evals(tmp_path / "slow")
    assert told(tmp_path / "quick") == told(tmp_path / "slow")


def test_a_run_that_is_stopped_keeps_groups_whose_verdicts_were_on_their_way(delay, tmp_path):
    trained(tmp_path / "whole", *EPOCHS)
    delay(at_random)
    place, num_stops = tmp_path / "run", 0
    with start(recipe(*EPOCHS), place, lambda _: (), after_looks(41)) as started:
        started.loop.run()
    while lines(place)[-1]["step"] < 12:
        resumed(place, *EPOCHS, stop=after_looks(41))
        num_stops += 1
    assert num_stops > 2
    assert same_weights(tmp_path / "whole", place)
    assert evals(tmp_path / "whole") == evals(place)


def after_looks(count):
    """Asks to stop from so many looks on."""
    looks = itertools.count()
    return lambda: next(looks) >= count


def test_decoding_goes_on_while_an_answer_is_judged(delay, monkeypatch, tmp_path):
    """The first answer's judge waits until the engine has gone on five times: waited for, it would wait in vain."""
    advance, has_begun, is_far = Generator.advance, threading.Event(), threading.Event()
    num_advanced, found = 0, []

    def counted(self):
        nonlocal num_advanced
        num_advanced += has_begun.is_set()
        if num_advanced == 5:
            is_far.set()
        return advance(self)

    def wait(_):
        if not has_begun.is_set():
            has_begun.set()
            found.append(is_far.wait(timeout=60))

    monkeypatch.setattr(Generator, "advance", counted)
    delay(wait)
    trained(tmp_path / "run", "evaluation.every=4")
    assert found == [True]


def test_the_time_that_verdicts_were_waited_for_is_told(delay, tmp_path):
    trained(tmp_path / "quick")
    delay(lambda _: time.sleep(0.05))
    trained(tmp_path / "slow")
    assert seconds(tmp_path / "quick", "judging") < 0.3 < seconds(tmp_path / "slow", "judging")


def seconds(place, kind):
    return sum(line.get(f"seconds/{kind}", 0.0) for line in lines(place, "metrics.jsonl"))


def test_an_evaluation_pays_for_no_verdict_of_training(delay, monkeypatch, tmp_path):
    """Else `gpu_hours`, which leaves evaluations out, would hang on how many there are."""
    clock, running, found = Ledger.clock, [], []

    @contextmanager
    def watched(self, kind):
        running.append(kind)
        with clock(self, kind):
            yield
        running.pop()

    def wait(prompt):
        if prompt.id not in held_out:
            time.sleep(0.05)
            found.append("evaluation" in running)

    monkeypatch.setattr(Ledger, "clock", watched)
    delay(wait)
    held_out = {one.id for one in task_of(recipe().task, num_held_out=8).held_out(8)}
    trained(tmp_path / "run", "evaluation.every=1", "off_policy.k=4", "engine.slots=64")
    assert len(found) > 16 and not any(found)


def test_a_stop_waits_for_no_verdict_and_a_resume_asks_for_them_again(delay, tmp_path):
    trained(tmp_path / "whole", *EPOCHS)
    place, has_begun, may_go_on = tmp_path / "run", threading.Event(), threading.Event()

    def wait(prompt):
        if prompt.id not in held_out:
            has_begun.set()
            may_go_on.wait(timeout=60)

    held_out = {one.id for one in task_of(recipe().task, num_held_out=8).held_out(8)}
    delay(wait)
    started = start(recipe(*EPOCHS), place, lambda _: (), has_begun.is_set)
    started.loop.run()
    assert not may_go_on.is_set()
    may_go_on.set()  # closing lets a judge end that nobody can break off
    started.__exit__()
    newest = max(Path(place, "checkpoints").iterdir())
    assert any(not group.is_judged for group in read_groups(newest / "waiting.jsonl"))
    resumed(place, *EPOCHS, "runtime.judges=2")
    assert same_weights(tmp_path / "whole", place)
    assert evals(tmp_path / "whole") == evals(place)


def test_a_judge_that_cannot_start_ends_the_run_with_the_reason(tmp_path):
    task = tmp_path / "task.py"
    task.write_text(TASK)
    with pytest.raises(InputError, match="cannot be run: OSError: no bench here"):
        trained(tmp_path / "run", "task.kind=python", f"task.path={task}:Refusing")


TASK = """
import sys
from scalerl.records import Prompt, Verdict

if "torch" not in sys.modules:  # in the process that judges
    raise OSError("no bench here")

class Refusing:
    name = "refusing"
    seconds = 20.0
    def prompts(self):
        return [Prompt(id=f"refusing:{n}", task="refusing", text="5 a + 0 ?", answer=n) for n in range(8)]
    def held_out(self, count):
        return [Prompt(id=f"refusing:{-1 - n}", task="refusing", text="2 a + 9 ?", answer=n) for n in range(count)]
    def judge(self, prompt, answer):
        return Verdict(score=1.0, passed=True)
"""
