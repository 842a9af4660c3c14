"""What is asked of the sandbox and what comes back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

Kind = Literal["done", "error", "time", "memory", "output", "forbidden", "broken"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one run may use."""

    seconds: float = 4.0
    """Wall time; CPU time is limited too, a little above it."""
    memory_mib: int = 512
    """Address space, the interpreter's own 20 MiB included; a program is one process, so this is all it has."""
    output_bytes: int = 1 << 20
    """Standard output, standard error and the result of an entry, together."""
    file_bytes: int = 8 << 20
    """Everything in its temporary home, together."""
    open_files: int = 64
    processes: int = 32
    """Threads, the first one included; there is never a second process."""

    def __post_init__(self) -> None:
        """Refuse limits under which nothing can run."""
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not least <= value < 1 << 40:  # NaN and infinity as well
                raise ValueError(f"{name} is {value!r}; expected at least {least}")


_LEAST = {
    "seconds": 0.01,
    "memory_mib": 64,
    "output_bytes": 0,
    "file_bytes": 4096,
    "open_files": 16,
    "processes": 1,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A Python program and how it is run."""

    source: str
    stdin: str = ""
    """Read by the program where `entry` is empty: it is then run as `__main__`."""
    entry: str = ""
    """A function of the program, or a method of its class `Solution`, to be called."""
    arguments: str = "[]"
    """A JSON array: what the entry is called with."""
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        """Refuse arguments that no program could be called with."""
        # Whole numbers stay text: Python reads none of more than 4300 digits, and the program may get them.
        if self.entry and not isinstance(json.loads(self.arguments, parse_int=str), list):
            raise ValueError(f"arguments are {self.arguments[:60]!r}; expected a JSON array")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended.

    done: by itself, with exit code 0, and an entry returned; error: by an exception or another exit code; time,
    memory, output: at that limit; forbidden: it asked the kernel for what no program needs; broken: the sandbox
    itself failed, which is never the program's fault.
    """

    kind: Kind
    stdout: str = ""
    result: str | None = None
    """JSON of what the entry returned, by the program's own word: whoever reads it must be ready for any text."""
    detail: str = ""
    """For people: the last line of the traceback, the signal or the limit; at most 300 characters."""
    seconds: float = 0.0
