"""Words of the command line to numbers, or one line that says what would be right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalerl.errors import InputError


def number(option: str, text: str, expected: str = "a number such as 1e4 or 12_000") -> float:
    """Read one finite number.

    >>> number("--until", "12_000"), number("--until", "1e19")
    (12000.0, 1e+19)
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{option} is {text!r}; expected {expected}")
    return found


def positive(option: str, text: str, expected: str = "a positive number such as 1e4 or 12_000") -> float:
    """Read one number above zero."""
    found = number(option, text, expected)
    if found <= 0:
        raise InputError(f"{option} is {text!r}; expected {expected}")
    return found


def share(option: str, text: str, expected: str = "a number between 0 and 1, such as 0.9") -> float:
    """Read one number between 0 and 1, neither included."""
    found = number(option, text, expected)
    if not 0 < found < 1:
        raise InputError(f"{option} is {text!r}; expected {expected}")
    return found


def not_negative(option: str, text: str) -> float:
    """Read one number, zero or more."""
    found = number(option, text)
    if found < 0:
        raise InputError(f"{option} is {text!r}; expected 0 or more")
    return found


def low_and_high(option: str, text: str) -> tuple[float, float]:
    """Read two numbers, the lower first.

    >>> low_and_high("--range", "-5,5")
    (-5.0, 5.0)
    """
    expected = "LOW,HIGH: two numbers, the lower first, such as -1,1"
    ends = text.split(",")
    if len(ends) != 2:
        raise InputError(f"{option} is {text!r}; expected {expected}")
    low, high = (number(option, end, expected) for end in ends)
    if not low < high:
        raise InputError(f"{option} is {text!r}; expected {expected}")
    return low, high


def listed(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Take apart a list that is separated by commas, repeated, or both.

    >>> listed("--at", ["1e4,2e4", "4e4"])
    ('1e4', '2e4', '4e4')
    """
    parts = tuple(part.strip() for text in texts for part in text.split(","))
    if not all(parts):
        raise InputError(
            f"{option} is {','.join(texts)!r}; expected values separated by commas, none of them empty"
        )
    return parts


def one_of(option: str, text: str, known: Sequence[str]) -> str:
    """Refuse a word that is not known."""
    if text not in known:
        raise InputError(f"{option} is {text!r}; expected one of {', '.join(known)}")
    return text
