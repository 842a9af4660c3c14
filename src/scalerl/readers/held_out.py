"""Which key of a log is the value of the curve, and whether it is a pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.readers.points import TRAINING_REWARD, listed
from scalerl.readers.trainers.trainer import Trainer
from scalerl.scaling.curve import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A key, what it measures, and what had to be decided."""

    key: str
    metric: Metric
    warnings: tuple[str, ...] = ()


def held_out(trainer: Trainer, keys: set[str], choices: Choices, *, file: Path) -> Value:
    """Pick the value's key: the one the user names, else the best held-out key, else a training reward."""
    candidates, training = trainer.held_out_keys(keys), trainer.training_keys(keys)
    if choices.value_column is not None:
        return _described(trainer, _named(choices.value_column, keys, candidates, file), training)
    for_task = [key for key in candidates if choices.task is None or choices.task in key]
    if for_task:
        value = _described(trainer, for_task[0], training)
        return _among(value, for_task)
    if choices.task is not None:
        raise InputError(f"no held-out key holds {choices.task!r}; there are {listed(candidates)}", file=file)
    if training:
        return _described(trainer, training[0], training)
    raise InputError(
        "has no held-out value that is known: name one with --value-column;"
        f" there are {listed(sorted(keys)) or 'none'}",
        file=file,
    )


def _named(column: str, keys: set[str], candidates: list[str], file: Path) -> str:
    if column in keys:
        return column
    there = listed(candidates or sorted(keys))
    raise InputError(f"--value-column is {column!r}; there are {there}", file=file)


def _described(trainer: Trainer, key: str, training: list[str]) -> Value:
    if key in training:
        return Value(key=key, metric="reward", warnings=(f"{key!r}: {TRAINING_REWARD}",))
    is_foreseen = key in trainer.held_out_keys({key})
    if trainer.is_mean_reward(key) if is_foreseen else "reward" in key:
        words = f"{key!r} is a mean reward: it is a pass rate only where every reward is 0 or 1"
        return Value(key=key, metric="reward", warnings=(words,))
    return Value(key=key, metric="pass_rate")


def _among(value: Value, candidates: list[str]) -> Value:
    if len(candidates) == 1:
        return value
    words = f"read {value.key!r}; --value-column can choose {listed(candidates[1:])}"
    return Value(key=value.key, metric=value.metric, warnings=(*value.warnings, words))
