"""What runs are called: as short as tells them apart."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path


def distinct_names(paths: Sequence[str]) -> list[str]:
    """The shortest end of each path that no other has; a path given twice is numbered.

    >>> distinct_names(["runs/a/log.csv", "runs/b/log.csv", "other.csv"])
    ['a/log.csv', 'b/log.csv', 'other.csv']
    >>> distinct_names(["a.csv", "./a.csv"])
    ['a.csv', 'a.csv (2)']
    """
    parts = [Path(os.path.abspath(path)).parts for path in paths]  # noqa: PTH100 - resolve() would follow links
    different = set(parts)
    names: list[str] = []
    for own in parts:
        depth = next(
            depth
            for depth in range(1, len(own) + 1)
            if sum(other[-depth:] == own[-depth:] for other in different) == 1
        )
        name = str(Path(*own[-depth:]))
        count = parts[: len(names)].count(own)
        names.append(f"{name} ({count + 1})" if count else name)
    return names


def without_suffixes(names: Sequence[str]) -> list[str]:
    """Drop `.csv` and the like where names stay different.

    >>> without_suffixes(["a.csv", "b.jsonl"]), without_suffixes(["a.csv", "a.jsonl"])
    (['a', 'b'], ['a.csv', 'a.jsonl'])
    """
    short = [re.sub(r"\.(csv|jsonl|json|log|txt)(?= \(\d+\)$|$)", "", name) for name in names]
    return short if len(set(short)) == len(set(names)) else list(names)


def joined(names: Sequence[str], most: int = 24) -> str:
    """One name for several runs.

    >>> joined(["a1", "a2"]), joined(["a_long_name_seed_1", "a_long_name_seed_2", "a_long_name_seed_3"])
    ('a1+a2', 'a_long_name_seed_1 and 2 more')
    """
    whole = "+".join(names)
    return whole if len(names) == 1 or len(whole) <= most else f"{names[0]} and {len(names) - 1} more"
