"""Calls to actors that always end: with an answer, the actor's own error, or the actor counted as lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from scalerl.cluster.errors import LostError

Reference = Any
"""A value that an actor will have made: `ray.ObjectRef`."""


def answer(reference: Reference, seconds: float, who: str) -> Any:  # noqa: ANN401 - whatever the actor returns
    """What a call returned; `LostError` when the actor died, hung or is cut off."""
    try:
        return ray.get(reference, timeout=seconds)
    except GetTimeoutError as error:
        raise LostError(f"{who} has not answered for {seconds:g} s") from error
    except RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else LostError(_first_line(error)) from None
    except RayActorError as error:
        raise LostError(f"{who} died: {_first_line(error)}") from error
    except RayError as error:
        raise LostError(f"{who} cannot be reached: {_first_line(error)}") from error


def answers(references: Sequence[Reference], seconds: float, who: str) -> list[Any]:
    """What each of several calls returned, all within one time-out; the first that failed ends the waiting."""
    waiting, until = list(references), time.monotonic() + seconds
    while waiting:
        left = max(0.0, until - time.monotonic())
        done, waiting = ray.wait(waiting, num_returns=1, timeout=left, fetch_local=False)
        if not done:
            raise LostError(f"{who}: {len(waiting)} of {len(references)} have not answered for {seconds:g} s")
        answer(done[0], seconds, who)
    return [answer(one, seconds, who) for one in references]


def cancel(reference: Reference) -> None:
    """Nobody waits for this answer any more: let the actor drop it."""
    ray.cancel(reference)


def end(actor: Any) -> None:  # noqa: ANN401 - a handle of an actor
    """End an actor at once; one that is gone already is fine."""
    ray.kill(actor, no_restart=True)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
