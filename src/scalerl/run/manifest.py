"""What a checkpoint must hold to be whole, and where each log stood when it was taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.run.durable import sync

MANIFEST = "manifest.json"
FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """One file of a checkpoint as it was written."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The files of a checkpoint and the byte offset of each log."""

    step: int
    files: Mapping[str, Stored]
    logs: Mapping[str, int]


def seal(folder: Path, step: int, logs: Mapping[str, int]) -> Manifest:
    """Have every file of a folder reach the disk and write its manifest last."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    if MANIFEST in files:
        raise ValueError(f"a checkpoint may not hold a {MANIFEST} of its own")
    manifest = Manifest(step=step, files={name: _stored(path) for name, path in files.items()}, logs=dict(logs))
    path = folder / MANIFEST
    path.write_text(json.dumps({"format": FORMAT, **asdict(manifest)}, indent=1) + "\n", encoding="utf-8")
    sync(path)
    for inner in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(inner)
    return manifest


def read(folder: Path) -> Manifest:
    """Read a manifest and look whether each file is there with its size; anything amiss is an error."""
    manifest = _parsed(folder / MANIFEST)
    for name, stored in manifest.files.items():
        path = folder / name
        size = path.stat().st_size if path.is_file() else None
        if size != stored.size:
            found = "is missing" if size is None else f"has {size} bytes; expected {stored.size}"
            raise InputError(found, file=path)
    return manifest


def verified(folder: Path) -> Manifest:
    """Read a manifest and compare every byte of the checkpoint with it."""
    manifest = read(folder)
    for name, stored in manifest.files.items():
        if _digest(folder / name) != stored.sha256:
            raise InputError("has other content than when it was written", file=folder / name)
    return manifest


def _parsed(path: Path) -> Manifest:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise InputError(f"'format' is {found['format']!r}; this version reads {FORMAT}", file=path)
        files = {
            str(name): Stored(size=int(one["size"]), sha256=str(one["sha256"]))
            for name, one in found["files"].items()
        }
        return Manifest(
            step=int(found["step"]), files=files, logs={str(n): int(at) for n, at in found["logs"].items()}
        )
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("is no manifest of a checkpoint", file=path) from None


def _stored(path: Path) -> Stored:
    digest = _digest(path)
    sync(path)
    return Stored(size=path.stat().st_size, sha256=digest)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
