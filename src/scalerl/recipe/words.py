"""A value as it was typed after `--set`: what it is depends on the key it is for."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """Text of the command line whose type is not known yet."""

    text: str

    def as_text(self) -> str:
        """Text where text is wanted: quotes are read as TOML reads them, and none are needed."""
        found = self.as_toml()
        return found if isinstance(found, str) else self.text

    def as_toml(self) -> Any:  # noqa: ANN401 - any TOML value
        """The TOML value that stands there; None where it is none."""
        try:
            found = tomllib.loads(f"value = {self.text}")
        except (tomllib.TOMLDecodeError, RecursionError):
            return None
        # A line break could smuggle a second key in.
        return found["value"] if len(found) == 1 else None

    def __str__(self) -> str:
        return self.text
