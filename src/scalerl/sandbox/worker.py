"""One warm worker: a bubblewrap process with a fork server in it, and the socket to it."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any, get_args

from scalerl.sandbox.inside import frames
from scalerl.sandbox.job import Job, Kind, Outcome
from scalerl.sandbox.starting import START_SECONDS, LostError, StartError, end, last_words, started

GRACE_SECONDS = 20.0  # beyond a job's own limit: the keeper ends it long before


class Worker:
    """A fork server behind bubblewrap, one job at a time.

    It ends when it is closed, when the thread that made it ends, and when the process does, however that happens.
    """

    def __init__(self) -> None:
        try:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
            self._connection, theirs = socket.socketpair()
        except OSError as error:
            raise StartError(str(error)) from error
        self._lock = threading.Lock()
        """A number is not closed, and given to something else, while it is used to end the connection."""
        with theirs:
            try:
                self._process = started(theirs.fileno(), self._errors)
            except BaseException:
                self._connection.close()
                self._errors.close()
                raise
        try:
            self._receive(START_SECONDS, most_bytes=100)
        except LostError as error:
            raise StartError(error) from error

    def run(self, job: Job) -> Outcome:
        """Run one job; LostError where the worker did not answer, after which it is of no more use."""
        frame = {name: getattr(job, name) for name in ("source", "stdin", "entry", "arguments")}
        self._connection.settimeout(START_SECONDS)
        try:
            frames.send(self._connection, {**frame, "limits": asdict(job.limits)})
        except OSError as error:
            raise self._lost(error) from error
        most_bytes = 6 * job.limits.output_bytes + 8192  # JSON writes a control character in six bytes
        told = self._receive(job.limits.seconds + GRACE_SECONDS, most_bytes)
        try:
            return _outcome(told)
        except (KeyError, TypeError, ValueError) as error:
            raise self._lost(error) from error

    def kill(self) -> None:
        """End the worker and everything in it; safe while another thread waits for its answer."""
        with suppress(
            OSError
        ):  # by this everything in it ends, even where bubblewrap is gone and cannot take it along
            self._connection.shutdown(socket.SHUT_RDWR)
        self._process.kill()

    def close(self) -> None:
        """End the worker and give back what it held."""
        self.kill()
        end(self._process)
        with self._lock:
            self._connection.close()
        self._errors.close()

    def _receive(self, seconds: float, most_bytes: int) -> dict[str, Any]:
        try:
            return frames.receive(self._connection, most_bytes, time.monotonic() + seconds)
        except (OSError, EOFError, ValueError, RecursionError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> LostError:
        """The worker is closed; its last words say why."""
        said = last_words(self._errors)
        self.close()
        return LostError(f"{error}{said}")


def _outcome(told: dict[str, Any]) -> Outcome:
    """What was told, if it has the shape of an outcome: it comes from the other side of the wall."""
    is_text = all(isinstance(told[name], str) for name in ("stdout", "detail"))
    if told["kind"] not in get_args(Kind) or not is_text or not isinstance(told["result"], str | None):
        raise ValueError("an answer that makes no sense")
    told["detail"], told["seconds"] = told["detail"][:300], float(told["seconds"])
    return Outcome(**told)
