"""Where programs cannot be isolated, that is said before anything runs."""

import os
import shutil
import subprocess
import sys

import pytest
from fake import fake_bwrap

from scalerl.sandbox import require, unavailable

ASK = "from scalerl.sandbox import require, unavailable\nprint(unavailable())\nrequire()"


def asked(path, code=ASK):
    """What a fresh process says that finds commands in these folders only."""
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )


def test_it_is_available_here():
    assert unavailable() is None
    require()


def test_without_bubblewrap_it_says_what_to_install(tmp_path):
    told = asked(str(tmp_path))
    assert "apt-get install bubblewrap" in told.stdout
    assert told.returncode == 1
    assert "InputError: untrusted code cannot be isolated on this machine" in told.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs it")
def test_without_unshare_it_says_what_to_install(tmp_path):
    (tmp_path / "bwrap").symlink_to(shutil.which("bwrap"))
    assert "apt-get install util-linux" in asked(str(tmp_path)).stdout


def test_it_is_available_to_a_process_that_may_gain_no_rights():
    """Containers and services are often started so."""
    told = asked(os.environ["PATH"], f"import ctypes\nctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n{ASK}")
    assert (told.stdout, told.returncode) == ("None\n", 0)


def test_where_namespaces_are_refused_it_says_what_to_allow(tmp_path):
    fake_bwrap(tmp_path, "sys.exit('bwrap: No permissions to create a new namespace')")
    told = asked(f"{tmp_path}:{os.environ['PATH']}").stdout
    assert "sysctl user.max_user_namespaces" in told
    assert "No permissions to create a new namespace" in told


@pytest.mark.parametrize(("change", "reason"), [
    ("sys.platform = 'darwin'", "by the Linux kernel; this is darwin"),
    ("os.uname = lambda: os.uname_result(('Linux', '', '', '', 'riscv64'))", "aarch64 only; this is riscv64"),
])  # fmt: skip
def test_another_system_or_machine_is_refused(change, reason):
    assert reason in asked(os.environ["PATH"], f"import os, sys\n{change}\n{ASK}").stdout


def test_isolation_that_does_not_isolate_is_not_taken_for_it(tmp_path):
    """A bwrap that builds no wall: it answers as a fork server would, and runs what it is sent on the bare host."""
    fake_bwrap(
        tmp_path,
        """
from inside import frames
import contextlib, io
connection = socket.socket(fileno=number)
frames.send(connection, {"ready": True})
while True:
    job, out = frames.receive(connection), io.StringIO()
    with contextlib.redirect_stdout(out):
        if "fork" not in job["source"]: exec(job["source"], {})
    frames.send(connection, dict(kind="done", stdout=out.getvalue(), result=None, detail="", seconds=0.0))
""",
    )
    told = asked(f"{tmp_path}:{os.environ['PATH']}").stdout
    assert "a program that should come to 'forbidden' came to 'done'" in told
