"""The program in an answer: its last fenced block."""

from __future__ import annotations

import re

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
    never_closed: set[tuple[str, str]] = set()  # else a text of opening fences alone would take for ever
    found: str | None = None
    at = 0
    while at < len(lines):
        opening = _opening(lines[at])
        if opening is not None and opening not in never_closed:
            end = _closing(lines, at + 1, *opening)
            if end is None:
                never_closed.add(opening)
            else:
                found = "".join(_outdented(line, len(opening[0])) + "\n" for line in lines[at + 1 : end])
                at = end
        at += 1
    return found


def _opening(line: str) -> tuple[str, str] | None:
    """Indentation and fence of a line that may open a block; a label of backticks makes it a line of text."""
    match = _FENCE.fullmatch(line)
    if match is None or (match[2][0] == "`" and "`" in match[3]):
        return None
    return match[1], match[2]


def _closing(lines: list[str], start: int, indent: str, fence: str) -> int | None:
    for at in range(start, len(lines)):
        match = _FENCE.fullmatch(lines[at])
        if (
            match is not None
            and match[2].startswith(fence)
            and not match[3].strip()
            and len(match[1]) <= len(indent) + MOST_DEEPER
        ):
            return at
    return None


def _outdented(line: str, width: int) -> str:
    """A line without as much of its indentation as its fence has."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return line[min(width, blanks) :]
