"""A run directory, the interface between training, forecasting and people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

from scalerl.errors import InputError
from scalerl.run import checkpoints
from scalerl.run.checkpoints import Checkpoint
from scalerl.run.cutting import Cut, cut_back
from scalerl.run.durable import TEMPORARY, WriteError, append_whole, beside, discard, said_of, sync, write_whole
from scalerl.run.json_line import json_line
from scalerl.run.lock import LOCK, Lock
from scalerl.run.names import CHECKPOINTS, LOGS, RECIPE, by_step, logs_of


def is_run(path: str | Path) -> bool:
    """Tell whether a folder is a run."""
    return (Path(path) / RECIPE).is_file()


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One directory: a recipe, append-only logs, checkpoints; only the holder of its lock writes."""

    path: Path
    lock: Lock | None
    """None where the run was opened for reading."""

    @classmethod
    def create(cls, path: str | Path, recipe_toml: str) -> Run:
        """Begin a run in a folder that is new or empty; its recipe is its first file."""
        folder = Path(path)
        refuse_used(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"cannot be made ({problem.strerror}); name another --run", file=folder) from None
        lock = Lock.take(folder)
        try:
            refuse_used(folder)  # again: another process may have begun it meanwhile
            with said_of(folder / RECIPE):
                write_whole(folder / RECIPE, recipe_toml.encode())
        except BaseException:
            lock.release()
            raise
        return cls(path=folder, lock=lock)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Go on with a run: take its lock and sweep away what a kill left half-written."""
        folder = Path(path)
        _check_is_run(folder, "begin it without --resume")
        run = cls(path=folder, lock=Lock.take(folder))
        for temporary in (*folder.glob(TEMPORARY), *folder.glob(f"[!.]*/{TEMPORARY}")):
            if temporary.parent.name != CHECKPOINTS:
                discard(temporary)
        checkpoints.sweep(folder / CHECKPOINTS)
        return run

    @classmethod
    def read(cls, path: str | Path) -> Run:
        """Look at a run without its lock, also while another process writes it."""
        _check_is_run(Path(path), "expected a run directory" if Path(path).exists() else "nothing is there")
        return cls(path=Path(path), lock=None)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the lock back."""
        if self.lock is not None:
            self.lock.release()

    @property
    def recipe_toml(self) -> str:
        """The resolved recipe."""
        return (self.path / RECIPE).read_text(encoding="utf-8")

    def append(self, log: str, record: Mapping[str, Any]) -> None:
        """Add one line to a log such as `evals.jsonl`."""
        path = self._writable(log)
        if not PurePosixPath(log).match(LOGS) or path.parent != self.path:
            raise ValueError(f"log is {log!r}; expected a name such as 'evals.jsonl'")
        with said_of(path):
            append_whole(path, json_line(record))

    def records(self, log: str) -> list[dict[str, Any]]:
        """Read a log back; a last line without an end, still being written or torn, is left out."""
        path = self.path / log
        content = path.read_bytes() if path.is_file() else b""
        return [json.loads(line) for line in content.split(b"\n")[:-1]]

    def write_file(self, relative: str, content: bytes) -> None:
        """Write a whole file such as `evals/step-000100.jsonl`, at once, in place of an older one."""
        path = self._writable(relative)
        if len(PurePosixPath(relative).parts) > 2:  # deeper down nothing is swept after a kill
            raise ValueError(f"file is {relative!r}; expected 'name' or 'folder/name'")
        with said_of(path):
            write_whole(path, content)

    def keep_newest(self, folder: str, keep: int) -> None:
        """Delete the files of all but the newest steps of a folder such as `rollouts`; 0 keeps all."""
        paths = list(by_step(self._writable(folder)).values())
        for path in paths[:-keep] if keep else ():
            path.unlink()

    def checkpoint(self, step: int, write: Callable[[Path], None], *, keep: int = 2) -> Checkpoint:
        """Have `write` fill a checkpoint, which is there whole or not at all, and delete all but the newest."""
        folder = self._writable(CHECKPOINTS)
        try:
            offsets = {log.name: _synced(log) for log in logs_of(self.path)}
            sync(self.path)
            written = checkpoints.write(folder, step, write, offsets)
        except OSError as problem:
            raise WriteError(f"{self.path}: {self._failure(step, problem)}") from problem
        checkpoints.retain(folder, keep, step)
        return written

    def latest_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint that is whole to the last byte; None where there is none at all."""
        return checkpoints.latest(self.path / CHECKPOINTS)

    def cut_back(self, checkpoint: Checkpoint | None) -> Cut:
        """Put logs and step files back to a checkpoint, or to the start; what came after goes to `aside/`."""
        with said_of(self._writable("aside")):
            return cut_back(self.path, checkpoint)

    def _writable(self, relative: str) -> Path:
        if self.lock is None:
            raise ValueError(f"{self.path} was opened for reading; expected Run.create or Run.open")
        if PurePosixPath(relative).is_absolute() or ".." in PurePosixPath(relative).parts:
            raise ValueError(f"file is {relative!r}; expected a path inside the run")
        return self.path / relative

    def _failure(self, step: int, problem: OSError) -> str:
        before = checkpoints.newest_step(self.path / CHECKPOINTS)
        left = (
            "there is none before it" if before is None else f"that of step {before} is whole; go on with --resume"
        )
        return f"the checkpoint of step {step} cannot be written ({problem.strerror or problem}); {left}"


def _synced(log: Path) -> int:
    """Where a log stands, once all of it has reached the disk."""
    size = log.stat().st_size
    sync(log)
    return size


def _check_is_run(folder: Path, remedy: str) -> None:
    if not is_run(folder):
        raise InputError(f"is no run: it has no {RECIPE}; {remedy}", file=folder)


def refuse_used(folder: Path) -> None:
    """Refuse a place where a new run would write over anything."""
    if is_run(folder):
        raise InputError("is a run already: go on with it by --resume, or name another --run", file=folder)
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file; expected a new folder for --run", file=folder)
    ours = {LOCK, beside(folder / RECIPE).name}  # a run killed while it was begun
    if folder.is_dir() and any(path.name not in ours for path in folder.iterdir()):
        raise InputError("is not empty and no run; name a new folder with --run", file=folder)
