"""Starts bubblewrap with a fork server in it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import IO

from scalerl.sandbox.bubblewrap import NOBODY, command
from scalerl.sandbox.interpreter import interpreter

START_SECONDS = 60.0  # a cold disk and a busy machine
_SERVE = "import sys; sys.path.insert(0, '/judge'); from inside.server import serve; serve(*map(int, sys.argv[1:]))"
# Out of memory, the kernel takes a program before the trainer. Children inherit the score: it comes before any.
_FIRST_TO_GO = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$0" "$@"'


class LostError(RuntimeError):
    """A worker cannot be had, is gone, or says what makes no sense."""


def started(descriptor: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker whose fork server answers on this descriptor, as far as can be seen from outside."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise LostError("no bwrap on the PATH")
    serve = ["-c", _SERVE, str(descriptor), str(NOBODY)]
    try:
        python = interpreter()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise LostError(f"the interpreter does not say what files it needs: {error}") from error
    if _may_map_nobody():
        return _with_users([*command(bwrap, python, has_root=True), *serve], descriptor, errors)
    return _process([*command(bwrap, python, has_root=False), *serve], [descriptor], errors)


def _may_map_nobody() -> bool:
    """Whether this is root, and of a world in which there is a nobody."""
    spans = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    has_nobody = any(int(first) <= NOBODY < int(first) + int(count) for first, _, count in spans)
    return os.geteuid() == 0 and has_nobody


def _with_users(arguments: list[str], descriptor: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start as root and map two users: limits on a user's processes do not bind root, so programs run as nobody."""
    (block, release), (info, told) = os.pipe(), os.pipe()
    bwrap, *more = arguments
    waiting = [bwrap, "--userns-block-fd", str(block), "--info-fd", str(told), *more]
    try:
        process = _process(waiting, [descriptor, block, told], errors)
    finally:
        os.close(block)
        os.close(told)
    try:
        if text := _told(info):  # nothing, where bubblewrap fails: it will say why
            _map_users(text)
    except (ValueError, OSError) as error:
        process.kill()
        process.wait()
        raise LostError(f"bwrap gets no users: {error}{last_words(errors)}") from error
    finally:
        os.close(info)
        os.close(release)
    return process


def _map_users(told: bytes) -> None:
    pid = json.loads(told)["child-pid"]
    for kind in ("uid", "gid"):
        Path(f"/proc/{pid}/{kind}_map").write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")


def _told(info: int) -> bytes:
    """What comes out of a pipe until it ends, as far as that is soon."""
    told, part, ready = b"", b" ", select.poll()
    ready.register(info, select.POLLIN)
    while part and ready.poll(START_SECONDS * 1000):
        part = os.read(info, 4096)
        told += part
    return told


def last_words(errors: IO[bytes]) -> str:
    """What a worker wrote for people, if anything, to be added to a message."""
    errors.seek(0)
    said = errors.read(1 << 16).decode(errors="replace").strip()
    return f"; it said: {said}" if said else ""


def _process(arguments: list[str], descriptors: list[int], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _FIRST_TO_GO, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=descriptors,
            start_new_session=True,  # an interrupt typed at the terminal is not for it
        )
    except OSError as error:
        raise LostError(f"bwrap does not start: {error}") from error
