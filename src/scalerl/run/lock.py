"""One writer a run."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from scalerl.errors import InputError
from scalerl.run.durable import said_of

LOCK = "lock"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lock:
    """The right to write a run; the kernel takes it back when the process ends, however it ends."""

    handle: int

    @classmethod
    def take(cls, run: Path) -> Lock:
        """Take the lock, or say who has it."""
        try:
            handle = os.open(run / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as problem:
            raise InputError(
                f"cannot be written ({problem.strerror}); expected a folder of yours", file=run
            ) from None
        try:
            _lock(handle, run)
            with said_of(run / LOCK):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(handle)
            raise
        lock = cls(handle=handle)
        _held.add(lock)
        return lock

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        if self in _held:
            _held.remove(self)
            os.close(self.handle)


_held: set[Lock] = set()  # of this process, for its forks to let go of


def _lock(handle: int, run: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "of unknown number"
        raise InputError(
            f"process {holder} is writing this run; wait for it, stop it, or name another --run", file=run
        ) from None
    except OSError as problem:
        raise InputError(
            f"cannot be locked ({problem.strerror}); expected a file system with locks", file=run
        ) from None


def _let_go() -> None:
    """A fork shares the lock of its parent and would keep it after the parent's death."""
    while _held:
        os.close(_held.pop().handle)


os.register_at_fork(after_in_child=_let_go)
