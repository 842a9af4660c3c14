"""What is known of a rollout beside its text, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalerl.records import VERDICT_KINDS, Rollout
from scalerl.report.rollout_reading import Recorded

DASH = "\N{EN DASH}"


def title(one: Recorded) -> str:
    """Which rollout it is."""
    prompt = one.group.prompt
    parts = [*([] if one.step is None else [f"step {one.step}"]), prompt.id]
    parts += [f"difficulty {prompt.difficulty}"] if prompt.difficulty else []
    parts += [f"answer {one.place + 1} of {len(one.group.rollouts)}"]
    return " · ".join(parts)


def verdict(rollout: Rollout) -> str:
    """What the judge said, in a word or two: right, or why not where the task tells."""
    if rollout.verdict is None:
        return "not judged"
    if rollout.verdict.error:
        return "judge failed"
    kind = rollout.verdict.kind
    return "right" if rollout.passed else kind if kind and not rollout.verdict.passed else "wrong"


def in_order(kinds: Iterable[str]) -> list[str]:
    """Kinds of verdicts from passed to judge error, and others after them.

    >>> in_order({"time", "passed", "late"})
    ['passed', 'time', 'late']
    """
    there_are = set(kinds)
    return [one for one in VERDICT_KINDS if one in there_are] + sorted(there_are - set(VERDICT_KINDS))


def facts(one: Recorded) -> str:
    """Verdict, reward, length, and the policy versions that wrote it."""
    rollout = one.rollout
    parts = [verdict(rollout), *(["interrupted"] if rollout.is_interrupted else [])]
    parts += [_truncated(rollout)] if rollout.ending == "truncated" else []
    parts += [f"reward {rollout.reward:g}"] if np.isfinite(rollout.reward) else []
    forced = int(np.count_nonzero(~rollout.is_trainable))
    parts += [f"{len(rollout.tokens)} tokens" + (f", {forced} of them forced" if forced else "")]
    parts += [f"policy version {between(rollout.versions)}"]
    parts += [] if one.lag is None else [f"lag {between(one.lag)}"]
    return " · ".join(parts)


def _truncated(rollout: Rollout) -> str:
    """A judge may like what there is; without its end it has failed all the same."""
    is_liked = rollout.verdict is not None and rollout.verdict.passed
    return "truncated (right as far as it goes)" if is_liked else "truncated"


def problem(rollout: Rollout) -> str:
    """Why the judge could not judge; nothing where it could."""
    return "" if rollout.verdict is None else rollout.verdict.error


def reason(rollout: Rollout) -> str:
    """Why the judge said so, where the task tells."""
    return "" if rollout.verdict is None else rollout.verdict.reason


def expected(answer: Any) -> str:  # noqa: ANN401 - anything that JSON can hold
    """What the judge compares with.

    >>> expected("7"), expected({"tests": "b4d822d8"}), expected([1, 2])
    ('7', 'tests b4d822d8', '[1, 2]')
    """
    match answer:
        case str():
            return answer
        case {"tests": str(digest), **others} if not others:  # of a programming problem
            return f"tests {digest}"
        case _:
            return json.dumps(answer, ensure_ascii=False)


def between(values: NDArray[np.int32]) -> str:
    """The lowest and the highest of some numbers.

    >>> between(np.array([7, 7, 8])), between(np.array([3, 3]))
    ('7\N{EN DASH}8', '3')
    """
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low}{DASH}{high}"
