"""Whether an answer equals the right one, as math-verify sees it."""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from scalerl.errors import InputError


def require() -> None:
    """Refuse to go on where math-verify is not installed."""
    if find_spec("math_verify") is None:
        raise InputError("task.kind = 'maths' needs math-verify: pip install 'scalerl[maths]'")


def load() -> None:
    """Import math-verify; it takes a moment."""
    require()
    import math_verify

    # It warns that its own alarm is off. Ours is outside: the process that judges is killed.
    logging.getLogger(math_verify.__name__).setLevel(logging.ERROR)


def gold(text: str) -> str:
    r"""The answer itself in a column that may hold a whole solution in the manner of GSM8K.

    >>> gold("6 x 7 = 42\n#### 42"), gold(" 3/4 ")
    ('42', '3/4')
    """
    return text.rpartition("####")[2].strip()


def is_equal(right: str, answer: str) -> bool:
    r"""Tell whether the last expression or `\boxed{}` of the answer equals the right one.

    Raises ValueError where no mathematics can be read from the right one: then nobody could be right.
    """
    import math_verify

    expected = _gold_expressions(right)
    if not expected:
        raise ValueError(f"the right answer {right!r} cannot be read as mathematics")
    found = math_verify.parse(answer, parsing_timeout=None)  # pyright: ignore[reportArgumentType] - None is off
    return bool(found) and math_verify.verify(expected, found, timeout_seconds=None)


@lru_cache(maxsize=4096)
def _gold_expressions(right: str) -> list[Any]:
    import math_verify

    # In a box a bare `1,2,3`, `x^2` or `\frac12` is read whole; without one only a first number would be.
    boxed = right if "\\boxed" in right else f"\\boxed{{{right}}}"
    for text in (boxed, right):
        if found := math_verify.parse(text, parsing_timeout=None):  # pyright: ignore[reportArgumentType]
            return found
    return []
