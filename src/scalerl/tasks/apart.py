"""A copy of an object in a process of its own, which can be asked, and killed when it does not answer.

The process is a fresh interpreter that loads only what the object needs. It ends when this one closes it or dies:
its socket then reads as ended, and where it is busy an alarm of its own ends it.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from scalerl.errors import InputError

START_SECONDS = 120.0  # a cold disk and a busy machine can make imports take a minute
STALL_SECONDS = 120  # of a process that takes nothing, or stops in the middle of what it says
END_SECONDS = 20.0


class Apart:
    """One such process, started when it is first asked and again after each time it was lost."""

    def __init__(self, target: object) -> None:
        self._pickled = pickle.dumps(target)
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lock = Lock()
        self._is_ended = False

    def start(self) -> None:
        """Start the process if there is none; raises where it cannot be, which no question can change."""
        self._started()

    def ask(self, method: str, *arguments: object, seconds: float) -> Any:  # noqa: ANN401 - what the method returns
        """Call a method of the copy.

        Raises InputError as the method does, TimeoutError after so many seconds, and ChildProcessError where the
        method failed or the process ended without a reply.
        """
        question = (method, arguments, seconds)
        try:
            connection = self._asked(question)
        except TimeoutError:
            raise
        except OSError:  # it was lost while it had nothing to do, which is no fault of this question
            self._end()
            connection = self._asked(question)
        return self._reply(connection, seconds)

    def kill(self) -> None:
        """End the process from another thread, and start none until closed: who waits for an answer hears of it."""
        with self._lock:
            self._is_ended, process = True, self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._end()
        self._is_ended = False

    def _end(self) -> None:
        if self._process is not None and self._connection is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):  # a kernel can hold a process that it waits for
                self._process.wait(END_SECONDS)
            self._connection.close()
        self._process = self._connection = None

    def _asked(self, question: object) -> Connection:
        connection = self._started()
        try:
            connection.send(question)
        except BlockingIOError:
            raise self._timed_out("takes no question", STALL_SECONDS) from None
        return connection

    def _timed_out(self, what: str, seconds: float) -> TimeoutError:
        self._end()
        return TimeoutError(f"{what} after {seconds:g} s")

    def _started(self) -> Connection:
        if self._connection is None:
            connection = self._connection = self._spawned()
            try:
                connection.send_bytes(self._pickled)
                self._reply(connection, START_SECONDS)
            except InputError:
                self._end()
                raise
            except OSError as error:  # with every answer it would be the same: no data, but the end of the run
                self._end()
                raise RuntimeError(f"a process for judging cannot be started: {error}") from None
        return self._connection

    def _spawned(self) -> Connection:
        ours, theirs = socket.socketpair()
        for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, direction, struct.pack("ll", STALL_SECONDS, 0))
        with theirs, self._lock:
            if self._is_ended:
                ours.close()
                raise ChildProcessError("it was closed")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "scalerl.tasks.apart_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for us: we end it when we have saved
            )
        return Connection(ours.detach())

    def _reply(self, connection: Connection, seconds: float) -> Any:  # noqa: ANN401
        if not connection.poll(seconds):
            raise self._timed_out("timed out", seconds)
        try:
            kind, value = connection.recv()
        except BlockingIOError:
            raise self._timed_out("no whole answer", STALL_SECONDS) from None
        except (EOFError, OSError):
            raise ChildProcessError(f"its process ended ({self._last_words()})") from None
        if kind == "input error":
            raise InputError(value)
        if kind == "failed":
            raise ChildProcessError(value)
        return value

    def _last_words(self) -> str:
        process = self._process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        code = process.returncode if process is not None else 0
        self._end()
        if code is None:
            return "it closed its connection"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _environment() -> Mapping[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        # Sets of words come in the same order in every process, so that what is made here can be made again.
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
