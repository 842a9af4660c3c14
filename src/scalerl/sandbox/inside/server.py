"""The fork server: waits for a job and forks a keeper for it.

It never reads a job itself, so that nothing of one program is in the memory that later ones are forked from.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import site
import socket
import sys

from . import frames, keeper, kernel
from .seccomp import instructions

# What short programs import, so that they find it loaded. No thread may be started here, and no file left open.
WARM = """
    abc array bisect cmath collections collections.abc contextlib copy dataclasses datetime decimal enum fractions
    functools heapq io itertools json math numbers operator os queue random re statistics string struct textwrap
    threading time traceback types typing
"""


def serve(descriptor: int, owner: int, *others: int) -> None:
    """Answer jobs that come over an inherited socket until it ends; close what else was inherited."""
    connection = socket.socket(fileno=os.dup(descriptor))  # a low number: the given one may be any
    for one in (descriptor, *others):
        os.close(one)
    for name in WARM.split():
        importlib.import_module(name)
    site.setquit()  # `exit` and `quit`, which programs use as if they were built in
    _keep_times_of_devices()
    rules = instructions(os.uname().machine)
    sys.path[:] = [place for place in sys.path if place != "/judge"]
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every page
    frames.send(connection, {"ready": True})
    while _has_job(connection):
        child = os.fork()
        if child == 0:
            keeper.keep(connection, rules, owner)
        if os.waitpid(child, 0)[1] != 0:
            return  # whatever is left ends with this process, the first of its namespace


def _keep_times_of_devices() -> None:
    """Whoever may write to a file of the host may set its times; bubblewrap's own remount would disable devices."""
    for one in os.scandir("/dev"):
        if not one.is_symlink():
            kernel.remount_read_only(one.path)


def _has_job(connection: socket.socket) -> bool:
    select.select([connection], [], [])
    return connection.recv(1, socket.MSG_PEEK) != b""
