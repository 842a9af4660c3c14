import os
import subprocess
import sys

import pytest

from scalerl.errors import InputError
from scalerl.run import Run

HOLDER = r"""
import os, sys
from scalerl.run import Run
run = Run.open(sys.argv[1])
who = "child" if "fork" in sys.argv and os.fork() == 0 else "parent"
os.write(1, f"{who} {os.getpid()}\n".encode())
os.read(0, 1)  # until the test lets go of the other end
"""


def holder(path, *words):
    command = [sys.executable, "-c", HOLDER, str(path), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_second_writer_is_refused_in_one_line_that_names_the_first(tmp_path):
    run = Run.create(tmp_path / "run", "seed = 1\n")
    with pytest.raises(InputError) as refusal:
        Run.open(tmp_path / "run")
    assert f"process {os.getpid()} is writing this run" in str(refusal.value) and "\n" not in str(refusal.value)
    assert (tmp_path / "run/lock").read_text() == f"{os.getpid()}\n"
    run.close()
    Run.open(tmp_path / "run").close()


def test_a_reader_needs_no_lock_and_cannot_write(tmp_path):
    with Run.create(tmp_path / "run", "seed = 1\n"):
        reader = Run.read(tmp_path / "run")
        assert reader.recipe_toml == "seed = 1\n" and reader.latest_checkpoint() is None
        for write in (
            lambda: reader.append("evals.jsonl", {}),
            lambda: reader.write_file("a", b""),
            lambda: reader.checkpoint(1, lambda folder: None),
            lambda: reader.cut_back(None),
            lambda: reader.keep_newest("rollouts", 1),
        ):
            with pytest.raises(ValueError, match="was opened for reading"):
                write()


def test_closing_twice_does_not_close_a_later_writer(tmp_path):
    first = Run.create(tmp_path / "run", "")
    first.close()
    second = Run.open(tmp_path / "run")  # most likely on the same descriptor
    first.close()
    with pytest.raises(InputError, match="is writing this run"):
        Run.open(tmp_path / "run")
    second.close()


def test_a_killed_writer_leaves_no_lock(tmp_path):
    Run.create(tmp_path / "run", "").close()
    with holder(tmp_path / "run") as writer:
        assert writer.stdout.readline().split()[0] == "parent"
        with pytest.raises(InputError, match=f"process {writer.pid} is writing"):
            Run.open(tmp_path / "run")
        writer.kill()
        writer.wait()
        Run.open(tmp_path / "run").close()


def test_a_fork_that_outlives_a_killed_writer_does_not_hold_its_lock(tmp_path):
    Run.create(tmp_path / "run", "").close()
    with holder(tmp_path / "run", "fork") as writer:
        pids = dict(writer.stdout.readline().split() for _ in range(2))
        writer.kill()
        writer.wait()
        os.kill(int(pids["child"]), 0)  # it lives
        Run.open(tmp_path / "run").close()
