"""Groups as JSON lines that give back every bit: recorded rollouts, and what a checkpoint keeps in flight."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.records import Group, Prompt, Rollout, Verdict
from scalerl.run.json_line import json_line


def group_record(group: Group) -> dict[str, Any]:
    """A group as JSON can hold it; versions and masks as runs, `[value, length]`."""
    prompt = group.prompt
    return {
        "prompt": {
            "id": prompt.id,
            "task": prompt.task,
            "text": prompt.text,
            "answer": prompt.answer,
            "difficulty": prompt.difficulty,
        },
        "prompt_tokens": group.prompt_tokens.tolist(),
        "admission": group.admission,
        "admitted_version": group.admitted_version,
        "rollouts": [_rollout_record(rollout) for rollout in group.rollouts],
    }


def group_of(record: Mapping[str, Any]) -> Group:
    """The group that a record was made of."""
    return Group(
        prompt=Prompt(**record["prompt"]),
        prompt_tokens=np.array(record["prompt_tokens"], np.int32),
        rollouts=tuple(_rollout_of(rollout) for rollout in record["rollouts"]),
        admission=record["admission"],
        admitted_version=record["admitted_version"],
    )


def group_lines(groups: Iterable[Group]) -> bytes:
    """Groups as the content of a file, one line each."""
    return b"".join(json_line(group_record(group)) for group in groups)


def read_groups(path: str | Path) -> tuple[Group, ...]:
    """Read a file of groups, such as `rollouts/step-000010.jsonl`."""
    place = Path(path)
    if not place.is_file():
        raise InputError("is not there; expected a file of recorded rollouts", file=place)
    lines = place.read_bytes().split(b"\n")
    return tuple(_read(line, place, number) for number, line in enumerate(lines, start=1) if line.strip())


def _read(line: bytes, path: Path, number: int) -> Group:
    try:
        return group_of(json.loads(line))
    except (ValueError, KeyError, TypeError, OverflowError):
        raise InputError("is no recorded group; was the file cut off?", file=path, line=number) from None


def _rollout_record(rollout: Rollout) -> dict[str, Any]:
    return {
        "text": rollout.text,
        "ending": rollout.ending,
        "is_interrupted": rollout.is_interrupted,
        "reward": _written(rollout.reward),
        "verdict": None if rollout.verdict is None else _verdict_record(rollout.verdict),
        "tokens": rollout.tokens.tolist(),
        "behavior": [_written(value) for value in rollout.behavior.tolist()],
        "versions": _runs(rollout.versions),
        "is_trainable": _runs(rollout.is_trainable),
    }


def _rollout_of(record: Mapping[str, Any]) -> Rollout:
    return Rollout(
        tokens=np.array(record["tokens"], np.int32),
        behavior=np.array([_number(value) for value in record["behavior"]], np.float32),
        versions=np.array(_expanded(record["versions"]), np.int32),
        is_trainable=np.array(_expanded(record["is_trainable"]), np.bool_),
        ending=record["ending"],
        is_interrupted=record["is_interrupted"],
        text=record["text"],
        verdict=None if record["verdict"] is None else _verdict_of(record["verdict"]),
        reward=_number(record["reward"]),
    )


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    told = {name: word for name in ("kind", "reason") if (word := getattr(verdict, name))}
    return {"score": _written(verdict.score), "passed": verdict.passed, "error": verdict.error, **told}


def _verdict_of(record: Mapping[str, Any]) -> Verdict:
    return Verdict(
        score=_number(record["score"]),
        passed=record["passed"],
        error=record["error"],
        kind=record.get("kind", ""),
        reason=record.get("reason", ""),
    )


def _written(value: float) -> float | str | None:
    """A number for strict JSON: not a number is null, an infinity is text."""
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else str(value)


def _number(value: float | str | None) -> float:
    return math.nan if value is None else float(value)


def _runs(values: NDArray[Any]) -> list[list[int | bool]]:
    return [[value, len(list(same))] for value, same in groupby(values.tolist())]


def _expanded(runs: list[list[int | bool]]) -> list[int | bool]:
    return [value for value, length in runs for _ in range(length)]
