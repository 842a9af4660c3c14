"""Whether untrusted code can be isolated on this machine, found by trying it."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from contextlib import closing

from scalerl.errors import InputError
from scalerl.sandbox.inside.syscalls import MACHINES
from scalerl.sandbox.job import Job
from scalerl.sandbox.starting import LostError, may_map_nobody
from scalerl.sandbox.worker import Worker

_INSTALL = (
    "bubblewrap is not installed (no `bwrap` on the PATH): `apt-get install bubblewrap`, or your system's package"
)
_NO_UNSHARE = "root needs the program `unshare`, which is not on the PATH: `apt-get install util-linux`"
_NAMESPACES = (
    "bubblewrap does not run here. Most often it may not make namespaces; allow them: "
    "`sysctl user.max_user_namespaces=10000`, on Debian `sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`; start a container with "
    "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or privileged"
)
# What each must come to: isolation that only looks as if it worked is worse than none.
_TRIALS = (
    ("import mmap, subprocess, zipfile", "done", ""),
    ("import threading\nt = threading.Thread(target=print, args=('runs',))\nt.start()\nt.join()", "done", "runs\n"),
    ("import os\nos.fork()", "forbidden", ""),
    ("import socket\nsocket.socket()", "forbidden", ""),
    ("open('/etc/passwd')", "error", ""),
)


@functools.cache
def unavailable() -> str | None:
    """Why untrusted code cannot be isolated here and what to install, or None; tried once a process."""
    if sys.platform != "linux":
        return f"untrusted code is isolated by the Linux kernel; this is {sys.platform}"
    if os.uname().machine not in MACHINES:
        return f"system calls are filtered on {' and '.join(MACHINES)} only; this is {os.uname().machine}"
    if shutil.which("bwrap") is None:
        return _INSTALL
    if may_map_nobody() and shutil.which("unshare") is None:
        return _NO_UNSHARE
    try:
        with closing(Worker()) as worker:
            return next(filter(None, (_failure(worker, *trial) for trial in _TRIALS)), None)
    except LostError as error:
        return f"{_NAMESPACES}. It said: {error}"


def _failure(worker: Worker, source: str, kind: str, stdout: str) -> str | None:
    outcome = worker.run(Job(source=source))
    if (outcome.kind, outcome.stdout) == (kind, stdout):
        return None
    return f"a program that should come to {kind!r} came to {outcome.kind!r} in the sandbox: {outcome.detail}"


def require() -> None:
    """Refuse to go on where untrusted code cannot be isolated."""
    if reason := unavailable():
        raise InputError(f"untrusted code cannot be isolated on this machine: {reason}")
