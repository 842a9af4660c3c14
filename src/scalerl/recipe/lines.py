"""On which line of a TOML text a key stands, since tomllib does not say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]")
_PAIR = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_NAME = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")

Path = tuple[str | int, ...]


def line_of(text: str, key: Path) -> int | None:
    """The line that states a key, or else the table or list around it; None where it is not to be found."""
    for length in range(len(key), 0, -1):
        found = next((number for number, path in _paths(text) if path == key[:length]), None)
        if found is not None:
            return found
    return None


def _paths(text: str) -> Iterator[tuple[int, Path]]:
    """Every header and every pair with its line; items of a list of tables are counted from 0."""
    table: Path = ()
    counts: Counter[Path] = Counter()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            table = _indexed(_names(header[2]), counts)
            if header[1] == "[[":
                yield number, table
                counts[table] += 1
                table = (*table, counts[table] - 1)
            yield number, table
        elif pair := _PAIR.match(line):
            yield number, table + _names(pair[1])


def _names(text: str) -> Path:
    return tuple(name.strip("\"'") for name in _NAME.findall(text))


def _indexed(names: Path, counts: Counter[Path]) -> Path:
    """A header below a list of tables means the item that was opened last."""
    path: Path = ()
    for position, name in enumerate(names):
        path = (*path, name)
        is_last = position == len(names) - 1
        if counts[path] and not is_last:
            path = (*path, counts[path] - 1)
    return path
