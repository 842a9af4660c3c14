"""`trainer_state.json`, which transformers and TRL write: the log is its `log_history`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, cast

from scalerl.errors import InputError
from scalerl.readers.cells import number
from scalerl.readers.choices import Choices
from scalerl.readers.json_records import Record, is_record
from scalerl.readers.trainer_log import Log, merged, step_of
from scalerl.scaling.curve import Curve

NAME = "trainer_state.json"
MAX_BYTES = 2**30


def curve(path: Path, choices: Choices) -> Curve:
    """Read one trainer state."""
    history = state(path).get("log_history")
    if not isinstance(history, list):
        raise InputError("has no list 'log_history': this is no trainer state", file=path)
    rows = merged((step_of(row), row) for row in cast(list[Any], history) if is_record(row))
    return Log(name=_run_name(path), file=path, rows=rows).curve(choices)


def newest(folder: Path) -> Path | None:
    """Find the trainer state that got furthest, in a folder or its checkpoints."""
    found = {_checkpoint_step(path): path for path in folder.glob(f"checkpoint-*/{NAME}")}
    root = folder / NAME
    if root.is_file():
        found[_step_at_top(root)] = root
    return found[max(found)] if found else None


def state(path: Path) -> Record:
    """Load a JSON object that fills the whole file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError("is larger than 1 GiB: this is no trainer state", file=path)
        found: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"{error.msg} in column {error.colno}"
        raise InputError(f"is not JSON: {where}; was the file cut off?", file=path, line=error.lineno) from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON text in UTF-8", file=path) from None
    if not is_record(found):
        raise InputError("is not a JSON object", file=path)
    return found


def _checkpoint_step(path: Path) -> float:
    return number(re.sub(r"^checkpoint-", "", path.parent.name)) or 0.0


def _step_at_top(path: Path) -> float:
    """Read `global_step`, which stands before the history, without reading the history."""
    with path.open("rb") as stream:
        found = re.search(rb'"global_step":\s*(\d+)', stream.read(2**16))
    return float(found[1]) if found else math.inf


def _run_name(path: Path) -> str:
    folder = path.resolve().parent
    return folder.parent.name if folder.name.startswith("checkpoint-") else folder.name
