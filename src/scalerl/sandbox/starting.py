"""Starts bubblewrap with a fork server in it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO

from scalerl.sandbox.bubblewrap import NOBODY, command
from scalerl.sandbox.interpreter import interpreter

START_SECONDS = 60.0  # a cold disk and a busy machine
_SERVE = "import sys; sys.path.insert(0, '/judge'); from inside.server import serve; serve(*map(int, sys.argv[1:]))"
# Out of memory, the kernel takes a program before the trainer. Children inherit the score: it comes before any.
_FIRST_TO_GO = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$0" "$@"'
# In a user namespace of its own, until somebody outside has mapped its users or is gone.
_WAIT_FOR_USERS = 'echo; read -r _ || exit; exec "$0" "$@" </dev/null >/dev/null'


class LostError(RuntimeError):
    """A worker is gone, or says what makes no sense."""


class StartError(LostError):
    """A worker cannot be had."""


def started(descriptor: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker whose fork server answers on this descriptor, as far as can be seen from outside."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise StartError("no bwrap on the PATH")
    serve = ["-c", _SERVE, str(descriptor), str(NOBODY)]
    try:
        python = interpreter()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise StartError(f"the interpreter does not say what files it needs: {error}") from error
    try:
        if _may_map_nobody():
            return _with_users([*command(bwrap, python, has_root=True), *serve], descriptor, errors)
        null = subprocess.DEVNULL
        return _process([*command(bwrap, python, has_root=False), *serve], descriptor, errors, null, null)
    except OSError as error:
        raise StartError(f"bwrap does not start: {error}{last_words(errors)}") from error


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and wait until it is gone, though not for ever: a kernel can hold one that it waits for."""
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(START_SECONDS)


def last_words(errors: IO[bytes]) -> str:
    """What a worker wrote for people, if anything, to be added to a message."""
    errors.seek(0)
    said = errors.read(1 << 16).decode(errors="replace").strip()
    return f"; it said: {said}" if said else ""


def _may_map_nobody() -> bool:
    """Whether this is root, and of a world in which there is a nobody."""
    spans = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    has_nobody = any(int(first) <= NOBODY < int(first) + int(count) for first, _, count in spans)
    return os.geteuid() == 0 and has_nobody


def _with_users(arguments: list[str], descriptor: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start as root and map two users: limits on a user's processes do not bind root, so programs run as nobody.

    Bubblewrap has an option for this, but who is killed while it waits leaves a process that waits for ever.
    """
    waiting = ["unshare", "-U", "/bin/sh", "-c", _WAIT_FOR_USERS, *arguments]
    (theirs, go), (told, tell) = os.pipe(), os.pipe()
    with os.fdopen(go, "wb", buffering=0) as release, os.fdopen(told, "rb", buffering=0) as ready:
        try:
            process = _process(waiting, descriptor, errors, theirs, tell)
        finally:
            os.close(theirs)
            os.close(tell)
        try:
            if _says_something(ready):
                _map_users(process.pid)
                release.write(b"\n")
        except OSError:
            end(process)
            raise
    return process


def _says_something(pipe: IO[bytes]) -> bool:
    """Whether anything comes out of a pipe soon; where nothing does, it will say why at its end."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(START_SECONDS * 1000)) and pipe.read(1) != b""


def _map_users(pid: int) -> None:
    for kind in ("uid", "gid"):
        Path(f"/proc/{pid}/{kind}_map").write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")


def _process(
    arguments: list[str], descriptor: int, errors: IO[bytes], stdin: int, stdout: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _FIRST_TO_GO, *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=errors,
        pass_fds=[descriptor],
        start_new_session=True,  # an interrupt typed at the terminal is not for it
    )
