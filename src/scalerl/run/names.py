"""What the files of a run are called."""

from __future__ import annotations

import re
from pathlib import Path

RECIPE = "recipe.toml"
LOGS = "*.jsonl"
CHECKPOINTS = "checkpoints"
ASIDE = "aside"
STEP_FOLDERS = ("evals", "rollouts")
"""Folders with one file a step, `step-000100.jsonl`."""

_STEP = re.compile(r"step-(\d{6,})(?:\.jsonl)?")


def step_name(step: int) -> str:
    """The name of a step.

    >>> step_name(100)
    'step-000100'
    """
    return f"step-{step:06d}"


def step_file(folder: str, step: int) -> str:
    """Where a folder keeps the file of a step.

    >>> step_file("evals", 100)
    'evals/step-000100.jsonl'
    """
    return f"{folder}/{step_name(step)}.jsonl"


def by_step(folder: Path) -> dict[int, Path]:
    """What a folder holds of each step, in order; other names are left out."""
    found = {int(name[1]): path for path in folder.glob("step-*") if (name := _STEP.fullmatch(path.name))}
    return dict(sorted(found.items()))


def logs_of(run: Path) -> list[Path]:
    """The logs of a run: the JSON lines at its top."""
    return sorted(path for path in run.glob(LOGS) if path.is_file())
