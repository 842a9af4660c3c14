"""The process at the other end of `Apart`: `python -m scalerl.tasks.apart_process DESCRIPTOR`."""

from __future__ import annotations

import contextlib
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection

from scalerl.errors import InputError
from scalerl.tasks.task import Slow

MEMORY_BYTES = 8 * 2**30
"""An answer that wants more fails alone, instead of bringing the machine, and the run with it, to its knees."""
GRACE_SECONDS = 2.0
MAX_LETTERS = 300  # of an error


def serve(connection: Connection) -> None:
    """Answer questions until the other side is gone."""
    target: list[object] = []
    with contextlib.suppress(EOFError, OSError):
        pickled = connection.recv_bytes()
        _reply(connection, lambda: target.append(_loaded(pickled)))
        while target:
            method, arguments, seconds = connection.recv()
            # The other side kills us in time. This is for when it is dead: the default action of the alarm ends a
            # process even inside a C function that never returns.
            signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
            _reply(connection, partial(getattr(target[0], method), *arguments))
            signal.setitimer(signal.ITIMER_REAL, 0)


def _loaded(pickled: bytes) -> object:
    target = pickle.loads(pickled)
    if isinstance(target, Slow):
        target.load()
    return target


def _reply(connection: Connection, work: Callable[[], object]) -> None:
    try:
        connection.send(("value", work()))
    except InputError as error:
        connection.send(("input error", str(error)))
    except Exception as error:  # whatever a judge raises, also what cannot be sent, is for the other side to count
        connection.send(("failed", f"{type(error).__name__}: {error}"[:MAX_LETTERS]))


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    with contextlib.suppress(ValueError, OSError):  # some systems know no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    serve(Connection(int(sys.argv[1])))
