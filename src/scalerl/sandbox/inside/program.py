"""Runs a program in this process, as `python main.py` would, or calls an entry of it.

The program shares this process and can change everything here. It gains nothing: how it ended is seen from outside,
and what it could forge is what it may say anyway, a result.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import io
import json
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Generator
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
            _report(RETURNED, _called(_entry(module.__dict__, entry), arguments))
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


def _called(function: Callable[..., object], arguments: str) -> str:
    """JSON of what it returns."""
    with _numbers_of_any_length():
        given = json.loads(arguments)
    returned = function(*given)
    with _numbers_of_any_length():
        return json.dumps(returned)


@contextlib.contextmanager
def _numbers_of_any_length() -> Generator[None]:
    """In JSON a whole number is as long as it is; for the program itself Python's limit stays."""
    most_digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(most_digits)


def _entry(names: dict[str, Any], entry: str) -> Callable[..., object]:
    """A function of the program's own, else a method of Solution, else whatever can be called: `f = math.gcd`.

    A method may have the name of something imported, by the program or by lines that were put before it.
    """
    found, solution = names.get(entry), names.get("Solution")
    is_own = callable(found) and getattr(found, "__module__", None) == names["__name__"]
    if solution is not None and not is_own and (hasattr(solution, entry) or not callable(found)):
        return getattr(solution(), entry)
    if callable(found):
        return found
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
