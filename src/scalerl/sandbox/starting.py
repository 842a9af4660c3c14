"""Starts bubblewrap with a fork server in it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, cast

from scalerl.sandbox.bubblewrap import NOBODY, command
from scalerl.sandbox.interpreter import interpreter

START_SECONDS = 60.0  # a cold disk and a busy machine
_SERVE = "import sys; sys.path.insert(0, '/judge'); from inside.server import serve; serve(*map(int, sys.argv[1:]))"
# Out of memory, the kernel takes a program before the trainer. Children inherit the score: it comes before any.
_FIRST_TO_GO = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$0" "$@"'
_STAY = [
    "unshare",
    "-U",
    "/bin/sh",
    "-c",
    "echo; read -r _",
]  # in a user namespace, until who started it says or ends


class LostError(RuntimeError):
    """A worker is gone, or says what makes no sense."""


class StartError(LostError):
    """A worker cannot be had."""


def started(descriptor: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker whose fork server answers on this descriptor, as far as can be seen from outside."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise StartError("no bwrap on the PATH")
    try:
        python = interpreter()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise StartError(f"the interpreter does not say what files it needs: {error}") from error
    try:
        with _namespace(errors) if may_map_nobody() else nullcontext() as users:
            arguments = [*command(bwrap, python, users), "-c", _SERVE, str(descriptor), str(NOBODY)]
            passed = [descriptor] if users is None else [descriptor, users]
            return _process([*arguments, *map(str, passed[1:])], passed, errors)
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


def may_map_nobody() -> bool:
    """Whether this is root, and of a world in which there is a nobody."""
    spans = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    has_nobody = any(int(first) <= NOBODY < int(first) + int(count) for first, _, count in spans)
    return os.geteuid() == 0 and has_nobody


@contextmanager
def _namespace(errors: IO[bytes]) -> Generator[int]:
    """A user namespace that has root and nobody: as whom programs run, since limits on processes do not bind root.

    Bubblewrap makes one too, but if its owner is killed before users are mapped, it waits for them for ever.
    """
    pipe = subprocess.PIPE
    holder = subprocess.Popen(_STAY, stdin=pipe, stdout=pipe, stderr=errors, bufsize=0, start_new_session=True)
    try:
        _wait_for_line(cast(IO[bytes], holder.stdout))
        _map_users(holder.pid)
        users = os.open(f"/proc/{holder.pid}/ns/user", os.O_RDONLY)
    finally:
        end(holder)
        for one in (holder.stdin, holder.stdout):
            cast(IO[bytes], one).close()
    try:
        yield users
    finally:
        os.close(users)


def _wait_for_line(pipe: IO[bytes]) -> None:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(START_SECONDS * 1000) or not pipe.read(1):
        raise ChildProcessError("no user namespace can be made")


def _map_users(pid: int) -> None:
    for kind in ("uid", "gid"):
        Path(f"/proc/{pid}/{kind}_map").write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")


def _process(arguments: list[str], descriptors: list[int], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _FIRST_TO_GO, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=descriptors,
        start_new_session=True,  # an interrupt typed at the terminal is not for it
    )
