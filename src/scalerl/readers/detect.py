"""Which format a path holds, by what stands in it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from scalerl.errors import InputError
from scalerl.readers import (
    console,
    csv_log,
    csv_table,
    json_log,
    json_records,
    run_directory,
    tensorboard_events,
    trainer_state,
)
from scalerl.readers.choices import Choices
from scalerl.readers.points import listed
from scalerl.readers.text_lines import text_lines
from scalerl.readers.trainers import UNKNOWN, trainer_of
from scalerl.scaling.curve import Curve

_SNIFFED_LINES = 50
_EXPECTED = (
    "expected evals.jsonl or recipe.toml (a run), trainer_state.json (TRL), event files (TensorBoard)"
    " or one .jsonl (verl, tinker)"
)


def curves(path: Path, choices: Choices) -> tuple[Curve, ...]:
    """Read every curve that a path holds."""
    with _readable(path):
        if run := _run(path):
            return run_directory.curves(run, choices)
        return (_one(path, choices),)


def curve(path: Path, choices: Choices) -> Curve:
    """Read the one curve that a path holds."""
    with _readable(path):
        if run := _run(path):
            return run_directory.curve(run, choices)
        return _one(path, choices)


@contextmanager
def _readable(path: Path) -> Generator[None, None, None]:
    """Say in words what the file system refuses, here and in every reader."""
    try:
        path.stat()
    except ValueError:
        raise InputError(f"{str(path)!r} is no path") from None
    except FileNotFoundError:
        raise InputError("there is no such file or directory", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or path) from None


def _one(path: Path, choices: Choices) -> Curve:
    if path.is_dir():
        return _folder(path, choices)
    if not path.is_file():
        raise InputError("is neither a file nor a directory", file=path)
    return _file(path, choices)


def _run(path: Path) -> Path | None:
    if path.is_dir():
        return path if run_directory.is_run(path) else None
    return path.parent if path.name == run_directory.EVALS and path.is_file() else None


def _folder(folder: Path, choices: Choices) -> Curve:
    if state := trainer_state.newest(folder):
        return _named(trainer_state.curve(state, choices), [state], folder)
    logs = [path for path in sorted(folder.glob("*.jsonl")) if path.is_file() and _is_log(path)]
    if len(logs) == 1:
        return _named(json_log.curve(logs[0], choices), logs, folder)
    if len(logs) > 1:
        raise InputError(f"holds several logs, give one: {listed([path.name for path in logs])}", file=folder)
    if events := tensorboard_events.event_files(folder):
        return _named(tensorboard_events.curve(events, choices, name=folder.resolve().name), events, folder)
    raise InputError(f"is a directory, but no run that is known: {_EXPECTED}", file=folder)


def _named(found: Curve, files: Sequence[Path], folder: Path) -> Curve:
    """Say which files of a folder a curve was read from."""
    names = [str(file.relative_to(folder)) for file in files]
    return replace(found, warnings=(*found.warnings, f"read from {listed(names)} of the folder"))


def _file(path: Path, choices: Choices) -> Curve:
    if _is_event_file(path):
        return tensorboard_events.curve([path], choices, name=path.resolve().parent.name)
    is_named_table = path.suffix.lower() in (".csv", ".json", ".jsonl")
    if not is_named_table and console.is_console(path):
        return console.curve(path, choices)
    first = next((line for _, line in text_lines(path) if line.strip()), "")
    if first.lstrip().startswith(("{", "[")):
        return _json(path, first, choices)
    header = csv_table.open_csv(path).header
    if csv_log.is_wandb_export(header):
        return csv_log.exported_curve(path, choices)
    return csv_log.curve(path, choices) if csv_log.is_history(header) else csv_table.curve(path, choices)


def _json(path: Path, first: str, choices: Choices) -> Curve:
    record = json_records.parsed(first)
    is_whole_file = record is None and path.suffix.lower() != ".jsonl"
    if is_whole_file or (json_records.is_record(record) and "log_history" in record):
        return trainer_state.curve(path, choices)
    return json_log.curve(path, choices) if _is_log(path) else json_records.curve(path, choices)


def _is_log(path: Path) -> bool:
    keys = set(_first_keys(path))
    is_table = "compute" in keys and "value" in keys
    return not is_table and ("_step" in keys or trainer_of(keys) is not UNKNOWN)


def _first_keys(path: Path) -> Iterator[str]:
    for _, record in islice(json_records.forgiving_records(path, []), _SNIFFED_LINES):
        yield from json_log.flat(record)[1]


def _is_event_file(path: Path) -> bool:
    with path.open("rb") as stream:
        return b"brain.Event:" in stream.read(64) or "tfevents" in path.name
