"""What the end of a program means."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import Any

from .program import FAILED, NO_MEMORY, RETURNED

_MOST_DETAIL = 300
_SIGNALS = {one.value: one.name for one in signal.Signals}
_FORBIDDEN = "asked the kernel for what no program may have: another process, a network, other rights"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """All that is known of a program that has ended."""

    stopped: str
    status: int
    most_kib: int
    cpu_seconds: float
    stdout: bytes
    stderr: bytes
    report: bytes


def judged(ending: Ending, limits: dict[str, Any], *, has_entry: bool) -> dict[str, Any]:
    """The kind of its outcome, what to tell people, what it wrote and what its entry returned."""
    kind, detail = _kind(ending, limits)
    result = None
    if kind == "done" and has_entry:
        kind, detail, result = _returned(ending.report)
    stdout = ending.stdout.decode("utf-8", "replace")
    return {"kind": kind, "detail": detail[:_MOST_DETAIL], "stdout": stdout, "result": result}


def _kind(ending: Ending, limits: dict[str, Any]) -> tuple[str, str]:
    if ending.stopped == "time":
        return "time", f"longer than {limits['seconds']:g} s"
    if ending.stopped == "output":
        return "output", f"more than {limits['output_bytes']} bytes of output"
    if os.WIFSIGNALED(ending.status):
        return _by_signal(os.WTERMSIG(ending.status), ending, limits)
    mark, said = ending.report[:1], ending.report[1:].decode("utf-8", "replace")
    if mark == NO_MEMORY:
        return "memory", f"more than {limits['memory_mib']} MiB"
    code = os.WEXITSTATUS(ending.status)
    if code != 0 or mark == FAILED:
        last = ending.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "error", (said if mark == FAILED else last) or f"exit code {code}"
    return "done", ""


def _by_signal(number: int, ending: Ending, limits: dict[str, Any]) -> tuple[str, str]:
    if number == signal.SIGSYS:
        return "forbidden", _FORBIDDEN
    if number in (signal.SIGXCPU, signal.SIGKILL) and ending.cpu_seconds > limits["seconds"]:
        return "time", f"{ending.cpu_seconds:.1f} s of CPU time"
    # The kernel, out of memory, sends SIGKILL; an interpreter that gets none may end itself by another signal.
    name = _SIGNALS.get(number, f"signal {number}")
    if number == signal.SIGKILL or ending.most_kib > 0.9 * 1024 * limits["memory_mib"]:
        return "memory", f"ended by {name} at {ending.most_kib >> 10} MiB"
    return "error", f"ended by {name}"


def _returned(report: bytes) -> tuple[str, str, str | None]:
    if report[:1] != RETURNED:
        return "error", "ended before the entry returned", None
    return "done", "", report[1:].decode("utf-8", "replace")
