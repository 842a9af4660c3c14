import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from scalerl.run import Run

HERE = Path(__file__).parent
NUM_STEPS = 1_000  # more than a run gets to between twenty kills, on the fastest of disks
NUM_KILLS = 20


def begun(path):
    """A tiny run in a process of its own, just before it opens its directory."""
    command = [sys.executable, str(HERE / "tiny_run.py"), str(path), str(NUM_STEPS)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"begun\n"
    return child


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run that nobody killed."""
    path = tmp_path_factory.mktemp("whole") / "run"
    with begun(path) as child:
        child.communicate()
    assert child.returncode == 0
    return tree(path)


def content(path):
    return path.read_bytes() if path is not None and path.exists() else b""


def check(killed, copy, whole):
    """Reopen a copy of what a kill left: it is a whole run up to its checkpoint."""
    shutil.copytree(killed, copy)
    if not (copy / "recipe.toml").exists():
        return 0
    with Run.open(copy) as run:
        latest = run.latest_checkpoint()
        cut = run.cut_back(latest)
        assert cut.warnings == () and (latest is None or latest.warnings == ())
        step = 0 if latest is None else latest.step
        for log, every in (("metrics.jsonl", 1), ("evals.jsonl", 3)):
            lines = whole[log].splitlines(keepends=True)[: step // every]
            assert content(copy / log) == b"".join(lines)
            assert content(copy / log) + content(cut.aside.get(log)) == content(killed / log)  # nothing is lost
            assert [record["step"] for record in run.records(log)] == list(range(every, step + 1, every))
    assert not list(copy.rglob(".*"))
    shutil.rmtree(copy)
    return step


def test_a_run_killed_again_and_again_ends_like_one_never_killed(tmp_path, whole):
    moments = random.Random(1)
    reached = []
    for _ in range(NUM_KILLS):
        with begun(tmp_path / "run") as child:
            for _ in range(moments.randint(0, 8)):  # so many steps, then somewhere in the next ones
                child.stdout.readline()
            time.sleep(moments.uniform(0, 0.02))
            child.kill()
        reached.append(check(tmp_path / "run", tmp_path / "copy", whole))
    assert reached == sorted(reached) and len(set(reached)) >= 10, reached
    with begun(tmp_path / "run") as child:
        child.communicate()
    assert child.returncode == 0
    found = tree(tmp_path / "run")
    assert {name: content for name, content in found.items() if not name.startswith("aside/")} == whole


def test_a_kill_at_any_line_of_the_code_is_survived(tmp_path):
    memory = Path("/dev/shm")  # a disk would wait for itself most of the time
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        command = [sys.executable, str(HERE / "killed_at_each_line.py"), folder, "5"]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 900  # about so many lines does a run of six steps take
