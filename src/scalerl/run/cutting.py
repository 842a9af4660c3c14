"""A run put back to where it stood at a checkpoint, with what came after kept aside.

Killed half-way it can be done again: a later checkpoint leaves before any log is cut, and a tail is copied before
it is cut off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scalerl.run.checkpoints import Checkpoint
from scalerl.run.durable import sync, write_whole
from scalerl.run.names import ASIDE, CHECKPOINTS, STEP_FOLDERS, by_step, logs_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """What a resume put aside, by its name in the run, and what it could not put right."""

    aside: Mapping[str, Path]
    warnings: tuple[str, ...]


def cut_back(run: Path, checkpoint: Checkpoint | None) -> Cut:
    """Put a run back to a checkpoint, or to its start."""
    step = -1 if checkpoint is None else checkpoint.step
    offsets = {} if checkpoint is None else checkpoint.manifest.logs
    aside: dict[str, Path] = {}
    warnings = [f"{name} is gone: {size} bytes of it are lost" for name, size in _gone(run, offsets).items()]
    for folder in (CHECKPOINTS, *STEP_FOLDERS):
        aside |= _later(run, folder, step)
    for log in logs_of(run):
        if log.name not in offsets:
            aside[log.name] = _moved(run, log)
        else:
            offset = _line_end(log, offsets[log.name], warnings)
            aside |= _cut(run, log, offset)
    return Cut(aside=aside, warnings=tuple(warnings))


def _gone(run: Path, offsets: Mapping[str, int]) -> dict[str, int]:
    return {name: size for name, size in offsets.items() if size and not (run / name).is_file()}


def _later(run: Path, folder: str, step: int) -> dict[str, Path]:
    later = [path for at, path in by_step(run / folder).items() if at > step]
    moved = {f"{folder}/{path.name}": _moved(run, path) for path in later}
    if moved:
        sync(run / folder)
    return moved


def _moved(run: Path, path: Path) -> Path:
    place = _free(run, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    path.rename(place)
    sync(place.parent)
    return place


def _cut(run: Path, log: Path, offset: int) -> dict[str, Path]:
    with log.open("rb") as stream:
        stream.seek(offset)
        tail = stream.read()
    if not tail:
        return {}
    place = _free(run, log)
    write_whole(place, tail)
    os.truncate(log, offset)
    sync(log)
    return {log.name: place}


def _line_end(log: Path, offset: int, warnings: list[str]) -> int:
    """The offset where a line ends there; else the log was changed, and the last line that ends before counts."""
    content = log.read_bytes()[:offset]
    end = content.rfind(b"\n") + 1
    if end < offset:
        change = "is shorter than" if len(content) < offset else "is not what it was"
        warnings.append(f"{log.name} {change} at the checkpoint: it goes on after its first {end} bytes")
    return end


def _free(run: Path, path: Path) -> Path:
    """The first free place aside."""
    name = path.relative_to(run)
    number = 1
    while (place := run / ASIDE / name.with_name(f"{name.name}.{number}")).exists():
        number += 1
    return place
