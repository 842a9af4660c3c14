"""Checkpoints: folders that appear at once, whole, and disappear at once.

A kill at any instant leaves names that begin with a dot: `.step-000100.tmp` was being written,
`.step-000100.old.tmp` was being replaced, `.step-000100.gone.tmp` was being deleted. No reader looks at them, the
next writer sweeps them away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scalerl.errors import InputError
from scalerl.run import manifest as manifests
from scalerl.run.durable import TEMPORARY, beside, discard, sync, write_whole
from scalerl.run.manifest import Manifest
from scalerl.run.names import by_step, step_name

_OLD, _GONE = ".old", ".gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """A whole checkpoint; the warnings name newer ones that are damaged."""

    step: int
    path: Path
    manifest: Manifest
    warnings: tuple[str, ...] = ()


def write(folder: Path, step: int, fill: Callable[[Path], None], logs: Mapping[str, int]) -> Checkpoint:
    """Have a folder filled, seal it with its manifest, and give it its name, in place of an older one."""
    place = folder / step_name(step)
    making = beside(place)
    discard(making)
    making.mkdir(parents=True)
    try:
        _filled(making, fill)
        manifest = manifests.seal(making, step, logs)
        _publish(making, place)
    except BaseException:
        discard(making)
        raise
    return Checkpoint(step=step, path=place, manifest=manifest)


def latest(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that is whole to the last byte; an error where there are some but none is."""
    damaged: list[str] = []
    for step, path in reversed(by_step(folder).items()):
        try:
            manifest = manifests.verified(path)
        except (InputError, OSError) as problem:
            damaged.append(str(problem))
        else:
            warnings = [f"{problem}; the checkpoint of step {step} is used instead" for problem in damaged]
            return Checkpoint(step=step, path=path, manifest=manifest, warnings=tuple(warnings))
    if damaged:
        hint = "move the folder away to start anew with --resume, or name another --run"
        raise InputError(f"holds no whole checkpoint ({'; '.join(damaged)}); {hint}", file=folder)
    return None


def retain(folder: Path, keep: int, written: int) -> None:
    """Delete what is older than the newest whole ones; the one just written always stays."""
    if keep < 1:
        raise ValueError(f"keep is {keep}; expected 1 or more")
    found = by_step(folder)
    whole = [step for step, path in reversed(found.items()) if _is_whole(path)]
    oldest = min([*whole[:keep], written])
    for step, path in found.items():
        if step < oldest:
            gone = beside(path, _GONE)
            discard(gone)
            discard(path.rename(gone))


def newest_step(folder: Path) -> int | None:
    """Step of the newest checkpoint whose files have their sizes."""
    return max((step for step, path in by_step(folder).items() if _is_whole(path)), default=None)


def sweep(folder: Path) -> None:
    """Clear away what a kill left behind."""
    _put_back(folder)
    for path in folder.glob(TEMPORARY):
        discard(path)


def _filled(making: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder; where that fails on a full disk, the error says so."""
    try:
        fill(making)
    except OSError:
        raise
    except Exception:  # torch and safetensors have errors of their own, which do not tell: ask the disk
        write_whole(making / "probe", bytes(2**20))
        raise


def _publish(making: Path, place: Path) -> None:
    old = beside(place, _OLD)
    if place.exists():
        discard(old)
        place.rename(old)
    making.rename(place)
    sync(place.parent)
    discard(old)


def _put_back(folder: Path) -> None:
    """Between the two renames of a replacement neither had its name: the old one is whole."""
    for old in folder.glob(f".step-*{_OLD}.tmp"):
        place = folder / old.name.removeprefix(".").removesuffix(f"{_OLD}.tmp")
        if not place.exists():
            old.rename(place)


def _is_whole(path: Path) -> bool:
    try:
        manifests.read(path)
    except (InputError, OSError):
        return False
    return True
