"""The last steps before a program runs: its own descriptors, its limits, no rights, a filter over system calls."""

from __future__ import annotations

import math
import os
import resource
from pathlib import Path
from typing import Any

from . import kernel

HOME = Path("/job")
TEMPORARY = "/tmp"  # a link to a folder in HOME
REPORT = 3  # the descriptor on which a program's result or exception is told
MOST_DESCRIPTORS = 1024  # more than a keeper can have
_STACK_BYTES = 64 << 20
_OTHERS_OF_OWNER = 2  # server and keeper, where they have the program's user


def enter(stdin: bytes, pipes: list[int], limits: dict[str, Any], rules: bytes, owner: int) -> None:
    """Give up everything but what a program may have."""
    os.setsid()  # signals to a process group reach beyond a namespace of process ids
    others = _OTHERS_OF_OWNER if os.getuid() == owner else 0
    if os.getuid() != owner:
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
    _take_descriptors(stdin, pipes)
    os.chdir(TEMPORARY)
    _limit(limits, others)
    kernel.drop_capabilities()
    kernel.forbid_dumps()
    kernel.install_filter(rules)


def _take_descriptors(stdin: bytes, pipes: list[int]) -> None:
    (HOME / "tmp").mkdir()
    (HOME / "stdin").write_bytes(stdin)
    os.dup2(os.open(HOME / "stdin", os.O_RDONLY), 0)
    for place, pipe in enumerate(pipes, start=1):
        os.dup2(pipe, place)
    os.closerange(REPORT + 1, MOST_DESCRIPTORS)


def _limit(limits: dict[str, Any], others: int) -> None:
    cpu_seconds = math.ceil(limits["seconds"]) + 1
    for what, most in (
        (resource.RLIMIT_AS, limits["memory_mib"] << 20),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"] + others),
        (resource.RLIMIT_STACK, _STACK_BYTES),
        (resource.RLIMIT_SIGPENDING, 256),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
