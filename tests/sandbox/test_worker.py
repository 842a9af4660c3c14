"""Workers that die, hang, talk nonsense or lose their owner cost what they were doing and nothing else."""

import os
import resource
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from fake import fake_bwrap
from processes import below, is_alive, wait_until

from scalerl.sandbox import Job, Limits, Sandbox, worker

WHOLE = 4  # a worker at work: bubblewrap, the fork server, a keeper and a program
KEPT = (5, 6, 7, 21)  # kill, setgid, setuid and sys_admin: the server's, over its own namespaces
FINE = Job(source="print('fine')")


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """Let a program of ours be bubblewrap."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return lambda body: fake_bwrap(tmp_path, body)


def workers():
    return below(os.getpid())


def killed(pid):
    with suppress(ProcessLookupError):  # bubblewrap takes its children along
        os.kill(pid, signal.SIGKILL)


def test_a_worker_that_died_idle_is_replaced():
    with Sandbox() as sandbox:
        before = set(workers())
        assert sandbox.run(FINE).stdout == "fine\n"
        for pid in set(workers()) - before:
            killed(pid)
        assert sandbox.run(FINE).stdout == "fine\n"


def test_a_worker_that_is_killed_at_work_costs_nothing_but_time():
    with ThreadPoolExecutor(1) as pool, Sandbox() as sandbox:
        before = set(workers())
        asked = pool.submit(
            sandbox.run, Job(source="import time\ntime.sleep(3)\nprint(1)", limits=Limits(seconds=60))
        )
        wait_until(lambda: len(set(workers()) - before) == WHOLE)
        for pid in set(workers()) - before:
            killed(pid)
        assert asked.result().stdout == "1\n"


def test_the_kernel_takes_workers_first_and_lets_no_program_dump_or_gain_rights():
    with ThreadPoolExecutor(1) as pool, Sandbox() as sandbox:
        before = set(workers())
        asked = pool.submit(sandbox.run, Job(source="import time\ntime.sleep(500)", limits=Limits(seconds=1000)))
        wait_until(lambda: len(set(workers()) - before) == WHOLE)
        own = set(workers()) - before
        program = next(pid for pid in own if not below(pid))
        status = Path(f"/proc/{program}/status")
        wait_until(lambda: "\nSeccomp:\t2\n" in status.read_text())  # it has given up all
        assert {Path(f"/proc/{pid}/oom_score_adj").read_text() for pid in own} == {"1000\n"}
        bounds = status.read_text().partition("CapBnd:\t")[2].split()[0]
        assert int(bounds, 16) & ~sum(1 << number for number in KEPT) == 0
        user = int(status.read_text().partition("Uid:\t")[2].split()[0])
        assert Path(f"/proc/{program}/environ").stat().st_uid != user  # root's, where it may not be dumped
        sandbox.close()
        assert isinstance(asked.exception(timeout=60), RuntimeError)


def test_closing_breaks_off_what_runs():
    with ThreadPoolExecutor(1) as pool, Sandbox() as sandbox:
        before = set(workers())
        asked = pool.submit(sandbox.run, Job(source="import time\ntime.sleep(500)", limits=Limits(seconds=1000)))
        wait_until(lambda: len(set(workers()) - before) == WHOLE)
        sandbox.close()
        with pytest.raises(RuntimeError, match="closed"):
            asked.result(timeout=60)
        wait_until(lambda: not set(workers()) - before)


FORKED = """
import os
from scalerl.sandbox import Job, Sandbox
with Sandbox() as sandbox:
    first = sandbox.run(Job(source="print(id(print))")).stdout
    child = os.fork()
    if child == 0:
        try:
            sandbox.run(Job(source=""))
        except RuntimeError as error:
            print(error, flush=True)
        sandbox.close()
        os._exit(0)
    os.waitpid(child, 0)
    print(sandbox.run(Job(source="print(id(print))")).stdout == first)
"""


CROWDED = """
import os, resource
from scalerl.sandbox import Job, Sandbox
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
crowd = [os.dup(0) for _ in range(2000)]
with Sandbox() as sandbox:
    print(sandbox.run(Job(source="print('fine')")).stdout, end="")
"""


def printed(script):
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    return asked.stdout.splitlines()


def test_a_sandbox_belongs_to_one_process():
    """In a process of its own: a fork of this one, with the threads of every test before, may stand still."""
    assert printed(FORKED) == ["this sandbox belongs to another process", "True"]  # and its worker still answers


def test_a_process_may_have_thousands_of_files_open():
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2100:
        pytest.skip("not on this machine")
    assert printed(CROWDED) == ["fine"]


def test_where_bubblewrap_fails_the_sandbox_is_broken_and_says_why(pretend):
    pretend("sys.exit('No permissions to create a new namespace')")
    with Sandbox() as sandbox:
        outcome = sandbox.run(FINE)
    assert outcome.kind == "broken"
    assert "No permissions to create a new namespace" in outcome.detail


@pytest.mark.parametrize("nonsense", [
    b"\xff\xff\xff\xff", b"\0\0\0\x02[]", b"\0\0\0\x03{{{", b"\0\0\0\x02\xff\xfe", b"\0\0\0\x05",
    b"\0\0\0\x50" + b"[" * 80,
])  # fmt: skip
def test_nonsense_instead_of_a_greeting_is_broken(pretend, nonsense):
    pretend(f"socket.socket(fileno=number).sendall({nonsense!r})")
    with Sandbox() as sandbox:
        assert sandbox.run(FINE).kind == "broken"


def test_a_worker_that_never_greets_is_given_up_and_no_program_is_blamed(pretend, monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "START_SECONDS", 2.0)
    pretend(f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\ntime.sleep(1000)")
    with Sandbox() as sandbox:
        assert sandbox.run(FINE).kind == "broken"
    assert len((tmp_path / "starts").read_text()) <= 2


def test_closing_does_not_wait_for_starts_that_others_wait_for(pretend, monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "START_SECONDS", 3.0)
    pretend(f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\ntime.sleep(1000)")
    with ThreadPoolExecutor(8) as pool, Sandbox() as sandbox:
        asked = [pool.submit(sandbox.run, FINE) for _ in range(8)]
        wait_until((tmp_path / "starts").exists)
        sandbox.close()
        assert all("closed" in str(one.exception(timeout=60)) for one in asked)
    assert (tmp_path / "starts").read_text() == "x"


ALONE = """
from inside import frames
if os.fork() == 0:
    connection = socket.socket(fileno=number)
    frames.send(connection, {{"ready": True}})
    frames.receive(connection)
    open({begun!r}, "w").close()
    connection.recv(1)
    open({ended!r}, "w").close()
    os._exit(0)
os.closerange(3, 1000)
time.sleep(1000)
"""


def test_what_bubblewrap_cannot_take_along_is_closed_too(pretend, tmp_path):
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    pretend(ALONE.format(begun=str(begun), ended=str(ended)))
    with ThreadPoolExecutor(1) as pool, Sandbox() as sandbox:
        asked = pool.submit(sandbox.run, Job(source="", limits=Limits(seconds=100)))
        wait_until(begun.exists)
        sandbox.close()
        assert "closed" in str(asked.exception(timeout=60))
        wait_until(ended.exists)


ANSWERS = """
from inside import frames
connection = socket.socket(fileno=number)
frames.send(connection, {"ready": True})
while True:
    job = frames.receive(connection)
    answer = {"kind": "done", "stdout": "", "result": None, "detail": "", "seconds": 0.0}
    if job["source"]:
        EVIL
    frames.send(connection, answer)
"""


@pytest.mark.parametrize("evil", [
    "sys.exit(1)",
    "time.sleep(1000)",
    "[(connection.sendall(byte), time.sleep(1)) for byte in [b'\\0'] * 3 + [b'\\xc8'] + [b' '] * 200]",
    "answer['kind'] = 'passed'",
    "answer['stdout'] = 3",
    "answer['result'] = [1]",
    "answer['more'] = 1",
    "answer['seconds'] = 'long'",
    "answer['stdout'] = 'x' * 10_000_000",
    "del answer['kind']",
    "connection.sendall(b'\\0\\0\\0\\2hi')",
])  # fmt: skip
def test_a_program_that_takes_its_workers_along_is_to_blame_if_others_still_run(pretend, monkeypatch, evil):
    pretend(ANSWERS.replace("EVIL", evil))
    monkeypatch.setattr(worker, "GRACE_SECONDS", 2.0)
    with Sandbox() as sandbox:
        begin = time.monotonic()
        assert sandbox.run(Job(source="evil", limits=Limits(seconds=0.1))).kind == "forbidden"
        assert time.monotonic() - begin < 60
        assert sandbox.run(Job(source="")).kind == "done"


def test_a_program_that_took_one_worker_along_is_not_to_blame(pretend, tmp_path):
    once = f"if not os.path.exists(once := {str(tmp_path / 'once')!r}):\n    os.mkdir(once)\n    sys.exit()\n"
    pretend(once + ANSWERS.replace("EVIL", "sys.exit(1)"))
    with Sandbox() as sandbox:
        assert sandbox.run(Job(source="evil")).kind == "broken"


OWNER = """
import signal, threading, time
from scalerl.sandbox import Job, Limits, Sandbox
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background of a script ignores it
sandbox = Sandbox()
run = lambda: sandbox.run(Job(source="import time\\nwhile True: pass", limits=Limits(seconds=1000)))
threading.Thread(target=run, daemon=True).start()
sandbox.run(Job(source=""))
print("ready", flush=True)
time.sleep(1000)
"""


@contextmanager
def owner_of(script):
    """A process that said that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        try:
            assert select.select([owner.stdout], [], [], 60)[0]
            assert owner.stdout.readline() == b"ready\n"
            yield owner
        finally:
            owner.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_owner_is_killed_nothing_is_left(number):
    with owner_of(OWNER) as owner:
        wait_until(lambda: len(below(owner.pid)) == WHOLE + 2)  # one worker at work, and an idle one
        left = below(owner.pid)
        owner.send_signal(number)
        owner.wait(60)
    wait_until(lambda: not any(map(is_alive, left)))


STOPS = """
import time
from scalerl.sandbox import Job, Sandbox, starting, worker
def stop(*_, **__):
    print("ready", flush=True)
    time.sleep(1000)
{moment} = stop
Sandbox().run(Job(source=""))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root maps users")
@pytest.mark.parametrize(("moment", "processes"), [("starting._map_users", 1), ("worker.Worker._receive", 2)])
def test_an_owner_killed_while_it_starts_a_worker_leaves_nothing(moment, processes):
    with owner_of(STOPS.format(moment=moment)) as owner:
        wait_until(lambda: len(below(owner.pid)) == processes)
        left = below(owner.pid)
        owner.kill()
        owner.wait(60)
    wait_until(lambda: not any(map(is_alive, left)))


def test_an_interrupt_typed_at_the_terminal_does_not_reach_workers():
    with Sandbox() as sandbox:
        before = set(workers())
        sandbox.run(FINE)
        sessions = set()
        for pid in set(workers()) - before:
            with suppress(ProcessLookupError):  # a program that has just ended
                sessions.add(os.getsid(pid))
    assert os.getsid(0) not in sessions
    assert sessions


def test_a_closed_sandbox_says_so():
    sandbox = Sandbox()
    sandbox.close()
    with pytest.raises(RuntimeError, match="closed"):
        sandbox.run(Job(source=""))
