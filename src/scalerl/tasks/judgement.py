"""One answer judged, whatever the judge does: an exception or a verdict that is none becomes data."""

from __future__ import annotations

import math

from scalerl.records import Prompt, Verdict
from scalerl.tasks.task import Answer, Task

MAX_LETTERS = 300  # of an error or a reason


def judgement(task: Task, prompt: Prompt, answer: Answer) -> Verdict:
    """What the task says of the answer, or a verdict that holds the error."""
    try:
        return checked(task.judge(prompt, answer))
    except Exception as error:  # a judge that fails on one answer must not end the run
        return failure(f"{type(error).__name__}: {error}")


def checked(verdict: object) -> Verdict:
    """The verdict itself, or one that holds the error where it is none or its score is not in [0, 1]."""
    if not isinstance(verdict, Verdict):
        return failure(f"the judge returned {verdict!r}; expected a Verdict")
    if not (math.isfinite(verdict.score) and 0 <= verdict.score <= 1):
        return failure(f"the judge gave the score {verdict.score!r}; expected 0 to 1")
    # A judge that works with numpy gives its kinds of numbers, which JSON cannot hold.
    return Verdict(
        score=float(verdict.score),
        passed=bool(verdict.passed),
        error=str(verdict.error),
        kind=str(verdict.kind),
        reason=str(verdict.reason)[:MAX_LETTERS],
    )


def failure(error: str) -> Verdict:
    """The verdict of a judge that could not judge."""
    return Verdict(score=0.0, passed=False, error=error[:MAX_LETTERS])
