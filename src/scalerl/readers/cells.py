"""Numbers from what a file holds: text cells, JSON values, numpy's way of printing."""

from __future__ import annotations

import math
import re
from pathlib import Path

from scalerl.errors import InputError

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
_NUMPY = re.compile(r"np\.\w+\((.*)\)")


def number(cell: object) -> float | None:
    """Read a cell as a number, or None where it is none.

    >>> number(" 3e2 "), number("1_000"), number(True), number("np.float64(0.5)")
    (300.0, None, None, 0.5)
    """
    if isinstance(cell, str):
        text = cell.strip()
        if printed := _NUMPY.fullmatch(text):
            text = printed[1]
        return float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        try:
            return float(cell)
        except OverflowError:
            return math.inf
    return None


def finite(cell: object, column: str, *, file: Path, line: int) -> float:
    """Read a cell that must hold a finite number."""
    found = number(cell)
    if found is not None and math.isfinite(found):
        return found
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise InputError(f"{column!r} is empty; expected a number", file=file, line=line)
    raise InputError(f"{column!r} is {_shown(cell)}; expected a finite number", file=file, line=line)


def _shown(cell: object) -> str:
    if isinstance(cell, dict | list):
        return f"a {type(cell).__name__}"
    text = str(cell)
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
