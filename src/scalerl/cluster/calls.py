"""Calls to actors that always end: with an answer, the actor's own error, or the actor counted as lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from scalerl.cluster.errors import LostError, first_line

FETCH_SECONDS = 60.0
"""How long an answer that is there may take to come over."""
BREATH_SECONDS = 0.005
"""Between two rounds of what is done while others work."""
Reference = Any
"""A value that an actor will have made: `ray.ObjectRef`."""


def answer(reference: Reference, seconds: float, who: str) -> Any:  # noqa: ANN401 - whatever the actor returns
    """What a call returned; `LostError` when the actor died, hung or is cut off."""
    try:
        return ray.get(reference, timeout=seconds)
    except GetTimeoutError as error:
        raise LostError(f"{who} has not answered for {seconds:g} s") from error
    except RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else LostError(first_line(error)) from None
    except RayActorError as error:
        raise LostError(f"{who} died: {first_line(error)}") from error
    except RayError as error:
        raise LostError(f"{who} cannot be reached: {first_line(error)}") from error


def answers(
    references: Sequence[Reference], seconds: float, who: str, meanwhile: Callable[[], None] | None = None
) -> list[Any]:
    """What each of several calls returned, all within one time-out; the first that failed ends the waiting.

    What is done `meanwhile` should not take long; if it does, nobody is to blame who has answered by then.
    """
    waiting, until = list(references), time.monotonic() + seconds
    found: dict[Reference, Any] = {}
    while waiting:
        left = max(0.0, until - time.monotonic())
        patience = left if meanwhile is None else min(left, BREATH_SECONDS)
        done, waiting = ray.wait(waiting, num_returns=1, timeout=patience, fetch_local=False)
        if done:
            found[done[0]] = answer(done[0], FETCH_SECONDS, who)
        elif left == 0:
            raise LostError(f"{who}: {len(waiting)} of {len(references)} have not answered for {seconds:g} s")
        elif meanwhile is not None:
            meanwhile()
    return [found[one] for one in references]


def cancel(reference: Reference) -> None:
    """Nobody waits for this answer any more: let the actor drop it."""
    ray.cancel(reference)


def end(actor: Any) -> None:  # noqa: ANN401 - a handle of an actor
    """End an actor at once; one that is gone already is fine."""
    ray.kill(actor, no_restart=True)
