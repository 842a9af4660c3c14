"""The tests of a programming problem, and many of them by their digest."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import astuple, dataclass
from functools import lru_cache

NUM_READY = 64  # suites kept as they are; the answers to one prompt come together


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One test: what a program is given and what is expected of it."""

    given: str
    """Standard input; of a call the arguments, a JSON array."""
    expected: str
    """Standard output; of a call what it returns, JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """All tests of one problem, and what a program may take for each."""

    trials: tuple[Trial, ...]
    entry: str = ""
    """Name of the function or method that is called; empty where a program is run."""
    may_be_wrapped: bool = False
    """Whether an expected list of one element may stand for that element, as APPS and TACO write results."""
    seconds: float | None = None
    memory_mib: int | None = None

    def hardest(self, most: int) -> Suite:
        """The tests with the longest input, so many of them, in their order; 0 is all."""
        if not most or len(self.trials) <= most:
            return self
        by_length = sorted(range(len(self.trials)), key=lambda at: -len(self.trials[at].given))
        kept = tuple(self.trials[at] for at in sorted(by_length[:most]))
        return Suite(
            trials=kept,
            entry=self.entry,
            may_be_wrapped=self.may_be_wrapped,
            seconds=self.seconds,
            memory_mib=self.memory_mib,
        )


class Suites:
    """Suites by their digest, compressed: those of a dataset take gigabytes."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        self._ready = lru_cache(maxsize=NUM_READY)(self._unpacked)

    def add(self, suite: Suite) -> str:
        """Keep a suite; returns its digest, which is the same on every machine."""
        text = json.dumps(astuple(suite)).encode()
        digest = hashlib.sha256(text).hexdigest()[:16]
        self._packed[digest] = zlib.compress(text, 1)
        return digest

    def of(self, digest: str) -> Suite:
        """The suite of a digest; LookupError where there is none."""
        return self._ready(digest)

    def _unpacked(self, digest: str) -> Suite:
        trials, entry, may_be_wrapped, seconds, memory_mib = json.loads(zlib.decompress(self._packed[digest]))
        return Suite(
            trials=tuple(Trial(given=given, expected=expected) for given, expected in trials),
            entry=entry,
            may_be_wrapped=may_be_wrapped,
            seconds=seconds,
            memory_mib=memory_mib,
        )
