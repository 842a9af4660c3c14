"""A pool of warm workers that run untrusted programs."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from types import TracebackType

from scalerl.sandbox.job import Job, Outcome
from scalerl.sandbox.starting import LostError, StartError
from scalerl.sandbox.worker import Worker


class Sandbox:
    """Runs jobs, as many at a time as threads ask; each in a worker that is made when none is idle."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._is_closed = False
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        # A worker ends with the thread that started it, so one thread that stays starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sandbox")

    def run(self, job: Job) -> Outcome:
        """Run one job and say how it ended; safe to call from many threads."""
        lost: list[LostError] = []
        for fresh in (False, True):
            try:
                return self._run(job, fresh=fresh)
            except LostError as error:
                lost.append(error)
        if any(isinstance(one, StartError) for one in lost):
            return Outcome(kind="broken", detail=_tail(lost[-1]))
        return self._blamed(lost[-1])

    def close(self) -> None:
        """End all workers; jobs that still run are broken off. In a fork nothing: they are not its own."""
        if self._process_id != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for one in self._busy:
                one.kill()  # the threads that wait for them close them
        for one in idle:
            one.close()
        self._starter.shutdown(cancel_futures=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, job: Job, *, fresh: bool) -> Outcome:
        worker = self._worker(fresh=fresh)
        is_whole = False
        try:
            outcome = worker.run(job)
            is_whole = True
        finally:
            with self._lock:
                self._busy.discard(worker)
                is_kept = is_whole and not self._is_closed
                if is_kept:
                    self._idle.append(worker)
            if not is_kept:
                worker.close()
        return outcome

    def _worker(self, *, fresh: bool) -> Worker:
        if self._process_id != os.getpid():  # a fork, in which the lock may be held for ever
            raise RuntimeError("this sandbox belongs to another process")
        with self._lock:
            if self._is_closed:
                raise RuntimeError("this sandbox is closed")
            if self._idle and not fresh:
                worker = self._idle.pop()
                self._busy.add(worker)
                return worker
            start = self._starter.submit(Worker)
        try:
            worker = start.result()
        except CancelledError:
            raise RuntimeError("this sandbox is closed") from None
        with self._lock:
            self._busy.add(worker)
            if self._is_closed:  # while it was started
                worker.kill()
        return worker

    def _blamed(self, error: LostError) -> Outcome:
        """Two workers were lost over one program: it is to blame if an empty one still runs."""
        try:
            is_whole = self._run(Job(source=""), fresh=True).kind == "done"
        except LostError:
            is_whole = False
        if is_whole:
            return Outcome(kind="forbidden", detail=f"ended its worker; {_tail(error)}")
        return Outcome(kind="broken", detail=_tail(error))


def _tail(error: LostError) -> str:
    """What a traceback says is in its last line."""
    return str(error)[-250:]
