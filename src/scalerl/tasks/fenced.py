"""The program in an answer: its last fenced block."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)")
MOST_DEEPER = 3
"""So much deeper than its opening fence may a closing one stand; what is deeper still is a line of the block."""


def last_block(text: str) -> str | None:
    r"""The lines of the last block between fences, without their common indentation; None where there is none.

    A fence is a line of three or more backticks or tildes. It is closed by a line of as many or more of the same
    and nothing else; one that is never closed opens no block.

    >>> last_block("First\n```python\nprint(1)\n```\nor better\n~~~\nprint(2)\n~~~\nDone.")
    'print(2)\n'
    >>> last_block("no block"), last_block("```\nprint(1)")
    (None, None)
    """
    lines = text.replace("\r\n", "\n").split("\n")
    fences = [_fence(line) for line in lines]
    last = {letter: _Last(fences, letter) for letter in "`~"}
    found: str | None = None
    at = 0
    while at < len(lines):
        fence = fences[at]
        # A search that cannot fail ends where the next one begins: all of them together take each line once.
        if fence is not None and fence.opens and last[fence.letter].closing(fence) > at:
            end = _closing(fences, at, fence)
            found = "".join(_outdented(line, fence.indent) + "\n" for line in lines[at + 1 : end])
            at = end
        at += 1
    return found


@dataclass(frozen=True, slots=True)
class _Fence:
    letter: str
    indent: int
    length: int
    opens: bool
    closes: bool

    def is_closed_by(self, other: _Fence) -> bool:
        is_alike = other.closes and other.letter == self.letter
        return is_alike and other.length >= self.length and other.indent <= self.indent + MOST_DEEPER


class _Last:
    """Where the last fence stands that is long enough and not too deep, for every length and depth there is.

    The table is no larger than the text: n lengths and m depths take (n^2 + m^2) / 2 letters, which is n m or more.
    """

    def __init__(self, fences: Sequence[_Fence | None], letter: str) -> None:
        all_of_them = [(at, one) for at, one in enumerate(fences) if one is not None]
        own = [(at, one) for at, one in all_of_them if one.closes and one.letter == letter]
        places = {(one.length, one.indent): at for at, one in own}
        self._lengths = sorted({one.length for _, one in own})
        self._indents = sorted({one.indent for _, one in own})
        self._table: list[list[int]] = []
        above = [-1] * len(self._indents)
        for length in reversed(self._lengths):
            above = self._row(length, places, above)
            self._table.append(above)
        self._table.reverse()

    def closing(self, fence: _Fence) -> int:
        """The line of the last fence that could close this one, wherever this one stands; -1 where none could."""
        row = bisect_left(self._lengths, fence.length)
        column = bisect_right(self._indents, fence.indent + MOST_DEEPER) - 1
        return self._table[row][column] if row < len(self._lengths) and column >= 0 else -1

    def _row(self, length: int, places: dict[tuple[int, int], int], above: list[int]) -> list[int]:
        row: list[int] = []
        latest = -1
        for indent, longer in zip(self._indents, above, strict=True):
            latest = max(latest, longer, places.get((length, indent), -1))
            row.append(latest)
        return row


def _fence(line: str) -> _Fence | None:
    """The fence that a line is; a label of backticks makes it a line of text."""
    match = _FENCE.fullmatch(line)
    if match is None:
        return None
    letter = match[2][0]
    return _Fence(
        letter=letter,
        indent=len(match[1]),
        length=len(match[2]),
        opens=not (letter == "`" and "`" in match[3]),
        closes=not match[3].strip(),
    )


def _closing(fences: Sequence[_Fence | None], opening: int, fence: _Fence) -> int:
    at = opening + 1
    while (other := fences[at]) is None or not fence.is_closed_by(other):
        at += 1
    return at


def _outdented(line: str, width: int) -> str:
    """A line without as much of its indentation as its fence has."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return line[min(width, blanks) :]
