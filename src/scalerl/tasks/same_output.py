"""Whether what a program gave is what a test expects, told outside the sandbox and whatever was given.

Numbers: where the expected one has no point, they must be equal, however they are written. With a point 1e-6 may
be missing, and of a fraction above 1, 1e-6 of it. Digits after superfluous zeros are a text, such as `0011`.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Context, Decimal
from typing import Any, cast

TOLERANCE = Decimal("1e-6")
MOST_LETTERS = 5_000
"""Of a word that is compared as a number: longer ones are texts."""
MOST_DIGITS = 4_000
"""Of a number in JSON that becomes an int: Python reads no longer ones, and slowly."""
MOST_DEEP = 200
"""Of lists in lists in JSON: no test needs more, and reading deeper ones can end an interpreter."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_ZEROS_FIRST = re.compile(r"[+-]?0[0-9]")
_UNTRAPPED = Context(traps=[])  # a difference too large for Decimal is infinite, not an exception
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


def same_stdout(given: str, expected: str) -> bool:
    r"""Tell whether two outputs are alike: line by line without blanks around, or else word by word and by value.

    >>> same_stdout("1 2 \n3\n\n", "1 2\n3"), same_stdout("0.50 7", "0.5 7.0"), same_stdout("1 2", "1\n2")
    (True, True, False)
    >>> same_stdout("11", "0011"), same_stdout("6.9999999", "7.000000"), same_stdout("6.9999999", "7")
    (False, True, False)
    """
    ours, theirs = _lines(given), _lines(expected)
    return len(ours) == len(theirs) and all(map(_same_line, ours, theirs))


def same_value(given: Any, expected: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Tell whether two values of JSON are alike; true and 1 are not, 1 and 1.0 are.

    >>> same_value([1, {"a": 2.0}], [1.0, {"a": 2}]), same_value(True, 1), same_value(0.1 + 0.2, 0.3)
    (True, False, True)
    """
    pairs = [(given, expected)]
    while pairs:
        ours, theirs = pairs.pop()
        if isinstance(theirs, list) and isinstance(ours, list):
            if len(ours) != len(theirs):
                return False
            pairs += zip(cast("list[Any]", ours), cast("list[Any]", theirs), strict=True)
        elif isinstance(theirs, dict) and isinstance(ours, dict):
            own, other = cast("dict[str, Any]", ours), cast("dict[str, Any]", theirs)
            if own.keys() != other.keys():
                return False
            pairs += [(own[key], other[key]) for key in other]
        elif not _same_leaf(ours, theirs):
            return False
    return True


def parsed(text: str) -> Any:  # noqa: ANN401
    """Read JSON that anybody may have written; raises ValueError, and nothing else, where it is none.

    >>> parsed("[1, 2.5]"), parsed("1" * 5000) == Decimal("1" * 5000)
    ([1, 2.5], True)
    """
    if _depth(text) > MOST_DEEP:
        raise ValueError(f"more than {MOST_DEEP} lists in lists")
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("too many lists in lists") from None


def _same_line(given: str, expected: str) -> bool:
    if given == expected:
        return True
    ours, theirs = given.split(), expected.split()
    return len(ours) == len(theirs) and all(map(_same_word, ours, theirs))


def _same_word(given: str, expected: str) -> bool:
    if given == expected or not (_is_numeral(given) and _is_numeral(expected)):
        return given == expected
    return _close(Decimal(given), Decimal(expected), is_exact=expected.lstrip("+-").isdecimal())


def _is_numeral(word: str) -> bool:
    is_short = len(word) <= MOST_LETTERS
    return is_short and _NUMBER.fullmatch(word) is not None and _ZEROS_FIRST.match(word) is None


def _same_leaf(given: Any, expected: Any) -> bool:  # noqa: ANN401
    if not (_is_number(given) and _is_number(expected)):
        return type(given) is type(expected) and given == expected
    if not (_is_finite(given) and _is_finite(expected)):
        return given == expected
    is_float = isinstance(expected, float)
    return (is_float and _as_float(given) == expected) or _close(
        Decimal(given), Decimal(expected), is_exact=not is_float
    )


def _as_float(value: float | Decimal) -> float:
    try:
        return float(value)  # what a whole number of more than 16 digits looks like as one
    except OverflowError:
        return math.inf


def _close(given: Decimal, expected: Decimal, *, is_exact: bool) -> bool:
    if given == expected or is_exact:
        return given == expected
    is_whole = expected == expected.to_integral_value()  # 1000000.0 is not 1000001
    room = TOLERANCE if is_whole else _UNTRAPPED.multiply(TOLERANCE, max(Decimal(1), abs(expected)))
    return _UNTRAPPED.abs(_UNTRAPPED.subtract(given, expected)) <= room


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_finite(value: float | Decimal) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _whole(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= MOST_DIGITS else Decimal(digits)


def _depth(text: str) -> int:
    deepest = depth = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "]}":
            depth -= 1
    return deepest
