"""Where a value was stated, so that an error can point there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from scalerl.errors import InputError
from scalerl.recipe.lines import line_of
from scalerl.recipe.toml_value import toml_key


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """A key of one file, or of the command line."""

    label: str | None = None
    text: str = ""
    folder: Path | None = None
    """What relative paths are relative to; None leaves them as they are."""
    is_command: bool = False
    key: tuple[str | int, ...] = ()

    @classmethod
    def command(cls) -> Where:
        """The overrides of the command line."""
        return cls(label="--set", folder=Path.cwd(), is_command=True)

    def at(self, part: str | int) -> Where:
        """One key, or one item of a list, further down."""
        return replace(self, key=(*self.key, part))

    @property
    def dotted(self) -> str:
        """The whole key, as in `task.parts[1].weight`."""
        return dotted(self.key)

    def error(self, message: str) -> InputError:
        """What is wrong, with file and line."""
        return InputError(message, file=self.label, line=line_of(self.text, self.key))


def dotted(key: tuple[str | int, ...]) -> str:
    """A key as people write it."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{toml_key(part)}" for part in key]
    return "".join(parts).removeprefix(".")
