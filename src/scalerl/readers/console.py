"""Console lines `step:12 - key:0.5 - key:3.1`, as verl and SkyRL print them, among any other output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from scalerl.readers.choices import Choices
from scalerl.readers.text_lines import text_lines
from scalerl.readers.trainer_log import Log, merged
from scalerl.scaling.curve import Curve

_STEP = re.compile(r"(?:^|[\s)])step:(\d{1,15}) - (\S.*)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def is_console(path: Path) -> bool:
    """Tell whether any line of a text reads as a logged step."""
    return any(_STEP.search(_COLOUR.sub("", line)) for _, line in text_lines(path, is_forgiving=True))


def curve(path: Path, choices: Choices) -> Curve:
    """Read the steps that were printed."""
    warnings: list[str] = []
    rows = merged(_records(path, warnings))
    return Log(name=path.stem, file=path, rows=rows, warnings=tuple(warnings)).curve(choices)


def _records(path: Path, warnings: list[str]) -> Iterator[tuple[float | None, Mapping[str, object]]]:
    for number, line in text_lines(path, is_forgiving=True):
        if found := _STEP.search(_COLOUR.sub("", line)):
            pairs = found[2].strip().split(" - ")
            if not line.endswith("\n"):
                # Cut off in the middle of a number, the number would still read as one.
                warnings.append(f"{path.name}: line {number} has no end; its last key is left out")
                pairs.pop()
            yield float(found[1]), dict(_pair(pair) for pair in pairs)


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.rpartition(":")
    return key, value
