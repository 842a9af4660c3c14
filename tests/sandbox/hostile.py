"""Programs that try to break out, break down or cheat, each with what it must come to.

Most stand in `programs/`, each under a line `=== name -> kind or kind: part of the detail [stdout=... entry=...]`.
A program prints ESCAPED where its attempt worked; none may.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from scalerl.sandbox import Limits
from scalerl.sandbox.inside.syscalls import checked, killed

MACHINE = os.uname().machine
HEAD = re.compile(r"=== (?P<name>.+?) -> (?P<kinds>[\w ]+?)(: (?P<detail>[^\[]+?))?( \[(?P<options>.*)\])?$")


@dataclass(frozen=True, kw_only=True)
class Hostile:
    name: str
    source: str
    kinds: tuple[str, ...]
    detail: str = ""
    seconds: float = 0.0
    memory_mib: int = 512
    entry: str = ""
    stdout: str | None = None
    result: str | None = None

    @property
    def limits(self):
        """Short where time is what ends it, and long on a busy machine where it is not."""
        return Limits(seconds=self.seconds or (1 if "time" in self.kinds else 30), memory_mib=self.memory_mib)


def read(file):
    """The programs of one file."""
    parts = re.split(r"^(?==== )", file.read_text(), flags=re.MULTILINE)
    return [one(*part.split("\n", 1)) for part in parts if part]


def one(head, source):
    told = HEAD.fullmatch(head)
    assert told is not None, head
    options = dict(part.split("=", 1) for part in (told["options"] or "").split())
    numbers = {key: int(options.pop(key)) for key in ("seconds", "memory_mib") if key in options}
    kinds = tuple(told["kinds"].split(" or "))
    return Hostile(name=told["name"], source=source, kinds=kinds, detail=told["detail"] or "", **numbers, **options)


def by_number(name, number, arguments="0, 0, 0, 0, 0, 0"):
    """A system call made past every library: without the filter it would at best be refused."""
    source = f"import ctypes\nctypes.CDLL(None).syscall({number}, {arguments})\nprint('ESCAPED')"
    return Hostile(name=f"system call {name}", source=source, kinds=("forbidden",))


COMPUTED = [
    by_number("clone", checked(MACHINE)["clone"], "17, 0, 0, 0, 0, 0"),
    *(by_number(name, number) for name, number in killed(MACHINE).items()),
    Hostile(name="large source", source=f"x = [{'1,' * 5_000_000}]", kinds=("done", "memory", "time"), seconds=20),
    Hostile(name="nested source", source="(" * 100_000, kinds=("error", "memory")),
    Hostile(name="NUL in the source", source="print(1)\0", kinds=("error",)),
    Hostile(name="lone surrogate in the source", source="x = '\ud800'", kinds=("error",)),
]
PLACES = sorted(Path(__file__).with_name("programs").glob("*.txt"))
OTHER_MACHINES = {"x86_64"} - {MACHINE}
HOSTILE = [*(one for place in PLACES if place.stem not in OTHER_MACHINES for one in read(place)), *COMPUTED]
