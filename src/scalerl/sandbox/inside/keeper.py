"""The process between: reads one job, runs it in namespaces of its own, watches it and says how it ended."""

from __future__ import annotations

import os
import signal
import socket
import time
import traceback
from typing import Any, NoReturn

from . import frames, kernel, program
from .cell import HOME, enter
from .ending import Ending, judged
from .watch import Watch

_PAGE = 4096
_MOST_FILES = 1024  # an empty one takes memory too


def keep(connection: socket.socket, rules: bytes, owner: int) -> NoReturn:
    """Run the job that waits on the connection, answer, and end; a failure of ours ends the whole worker."""
    code = 1
    try:
        frames.send(connection, _outcome(connection, frames.receive(connection), rules, owner))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _outcome(connection: socket.socket, job: dict[str, Any], rules: bytes, owner: int) -> dict[str, Any]:
    limits = job["limits"]
    kernel.unshare(kernel.NEW_MOUNTS | kernel.NEW_IPC | kernel.NEW_PIDS)
    stdin = job["stdin"].encode("utf-8", "surrogatepass")
    room = limits["file_bytes"] + (len(stdin) // _PAGE + 4) * _PAGE
    kernel.mount_tmpfs(str(HOME), num_bytes=room, num_files=_MOST_FILES, owner=owner)
    pipes = [os.pipe() for _ in range(3)]
    child = os.fork()
    if child == 0:
        enter(stdin, [write for _, write in pipes], limits, rules, owner)
        program.run(job["source"], job["entry"], job["arguments"])
    kernel.drop_capabilities(kept=kernel.MAY_KILL)  # from here on it reads what a program says
    for _, write in pipes:
        os.close(write)
    stdout, stderr, report = (read for read, _ in pipes)
    if os.read(report, 1) != program.READY:
        raise RuntimeError(f"no program was started: {os.read(stderr, 1 << 16).decode(errors='replace')}")
    begin = time.monotonic()
    ending = _watched(connection, child, [stdout, stderr, report], begin, limits)
    return {**judged(ending, limits, has_entry=bool(job["entry"])), "seconds": time.monotonic() - begin}


def _watched(
    connection: socket.socket, child: int, pipes: list[int], begin: float, limits: dict[str, Any]
) -> Ending:
    watch = Watch(child, pipes, limits["output_bytes"])
    stopped = watch.until(begin + limits["seconds"], connection)
    os.kill(child, signal.SIGKILL)  # the first process of its namespace: whatever else is in there ends with it
    _, status, used = os.wait4(child, 0)
    stopped = watch.drain() or stopped
    stdout, stderr, report = (bytes(one) for one in watch.parts)
    return Ending(
        stopped=stopped,
        status=status,
        most_kib=used.ru_maxrss,
        cpu_seconds=used.ru_utime + used.ru_stime,
        stdout=stdout,
        stderr=stderr,
        report=report,
    )
