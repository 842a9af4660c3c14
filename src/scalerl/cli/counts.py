"""Words of the command line to whole numbers, or one line that says what would be right."""

from __future__ import annotations

from collections.abc import Sequence

from scalerl.cli.numbers import listed
from scalerl.errors import InputError


def count(option: str, text: str, *, at_least: int = 1) -> int:
    """Read one whole number.

    >>> count("--samples", "1_024")
    1024
    """
    try:
        found = int(text)
    except ValueError:
        found = at_least - 1
    if found < at_least:
        raise InputError(f"{option} is {text!r}; expected a whole number, {at_least} or more")
    return found


def counts(option: str, texts: Sequence[str]) -> tuple[int, ...]:
    """Read a list of whole numbers, each once, in rising order.

    >>> counts("--pass-at", ["8,1", "4"])
    (1, 4, 8)
    """
    return tuple(sorted({count(option, one) for one in listed(option, texts)}))


def span(option: str, text: str) -> tuple[int, int]:
    """Read two whole numbers with a dash between them, or one that stands for both.

    >>> span("--steps", "10-40"), span("--steps", "10")
    ((10, 40), (10, 10))
    """
    first, dash, last = text.partition("-")
    low = count(option, first.strip(), at_least=0)
    high = count(option, last.strip(), at_least=0) if dash else low
    if low > high:
        raise InputError(f"{option} is {text!r}; expected the lower number first, such as 10-40")
    return low, high
