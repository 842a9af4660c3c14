"""How often each held-out prompt was passed: `evals/step-000100.jsonl` of a run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from scalerl.errors import InputError
from scalerl.readers.cells import finite
from scalerl.readers.json_records import Record, forgiving_records
from scalerl.scaling.curve import PromptCounts

Counts = Mapping[str, tuple[float, float]]


def prompt_counts(run: Path, steps: Sequence[float], task: str, warnings: list[str]) -> PromptCounts | None:
    """Read the counts of every point, or none where points lack them or asked other prompts."""
    files = [run / "evals" / f"step-{step:06.0f}.jsonl" for step in steps]
    if not any(path.is_file() for path in files):
        return None
    counts = [_counts(path, task, warnings) if path.is_file() else {} for path in files]
    prompts = sorted(counts[0])
    if not prompts or any(set(point) != set(prompts) for point in counts):
        warnings.append("prompt counts are left out: not every point has them for the same prompts")
        return None
    return PromptCounts(
        prompts=tuple(prompts),
        num_passed=np.array([[point[prompt][0] for prompt in prompts] for point in counts]),
        num_samples=np.array([[point[prompt][1] for prompt in prompts] for point in counts]),
    )


def _counts(path: Path, task: str, warnings: list[str]) -> Counts:
    return {
        str(record.get("prompt")): _passed(record, path, line)
        for line, record in forgiving_records(path, warnings)
        if str(record.get("task", task)) == task
    }


def _passed(record: Record, path: Path, line: int) -> tuple[float, float]:
    passed, asked = (finite(record.get(key), key, file=path, line=line) for key in ("num_passed", "num_samples"))
    if 0 <= passed <= asked and asked > 0:
        return passed, asked
    raise InputError(f"{passed:g} of {asked:g} samples passed; expected a share", file=path, line=line)
