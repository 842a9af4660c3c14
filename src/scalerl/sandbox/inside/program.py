"""Runs a program in this process, as `python main.py` would, or calls an entry of it.

The program shares this process and can change everything here. It gains nothing: how it ended is seen from outside,
and what it could forge is what it may say anyway, a result.
"""

from __future__ import annotations

import atexit
import errno
import io
import json
import os
import sys
import threading
import traceback
import types
from typing import Any, NoReturn

from .cell import REPORT

READY, RETURNED, FAILED, NO_MEMORY = b".", b"R", b"E", b"M"
_MOST_SAID = 1000
_RECURSION = 1000


def run(source: str, entry: str, arguments: str) -> NoReturn:
    """Run the program and end this process with its exit code."""
    exit_process, code = os._exit, 1
    module = types.ModuleType("solution" if entry else "__main__")
    try:
        os.write(REPORT, READY)
        code = _ended(module, _tried(module, source, entry, arguments))
    finally:
        exit_process(code)


def _tried(module: types.ModuleType, source: str, entry: str, arguments: str) -> int:
    try:
        _execute(module, source)
        if entry:
            _report(RETURNED, json.dumps(_entry(module.__dict__, entry)(*json.loads(arguments))))
    except BaseException as error:
        return _exit_code(error)
    return 0


def _execute(module: types.ModuleType, source: str) -> None:
    sys.modules["__main__"] = sys.modules[module.__name__] = module
    module.__file__ = "/tmp/main.py"
    sys.argv = ["main.py"]
    sys.setrecursionlimit(_RECURSION + sum(1 for _ in traceback.walk_stack(None)))  # ours do not count against it
    exec(compile(source, "main.py", "exec", dont_inherit=True), module.__dict__)


def _ended(module: types.ModuleType, code: int) -> int:
    """What an interpreter does at its end: wait for threads, call what asked for it, write what is buffered."""
    try:
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        own = [one for one in module.__dict__.values() if isinstance(one, io.IOBase)]
        for file in (*own, sys.stdout, sys.stderr, sys.__stdout__):
            if not getattr(file, "closed", file is None):
                file.flush()  # pyright: ignore[reportOptionalMemberAccess]
    except BaseException as error:
        return code or _exit_code(error)
    return code


def _entry(names: dict[str, Any], entry: str) -> Any:  # noqa: ANN401 - whatever the program has under that name
    if entry in names:
        return names[entry]
    if "Solution" in names:
        return getattr(names["Solution"](), entry)
    raise NameError(f"no function {entry!r} and no class Solution")


def _exit_code(error: BaseException) -> int:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        os.write(REPORT, NO_MEMORY)
        return 1
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        return (error.code or 0) & 0xFF
    _report(FAILED, _said(error)[:_MOST_SAID])
    return 1


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return str(error.code)
    return f"{type(error).__name__}: {error}"


def _report(mark: bytes, text: str) -> None:
    data = mark + text.encode("utf-8", "replace")
    while data:
        data = data[os.write(REPORT, data) :]
