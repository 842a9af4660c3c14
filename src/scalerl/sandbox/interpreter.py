"""What a Python interpreter needs of this machine's files, found by asking it."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Every extension module is loaded, so that the libraries they need are among those mapped. Threads that end need
# libgcc_s, which the C library opens by name.
_ASK = """
import ctypes, importlib, json, os, sys
for place in sys.path:
    for file in os.listdir(place) if place.endswith("lib-dynload") else ():
        name = file.partition(".")[0]
        if not name.startswith(("_test", "xx", "_tkinter", "_xx")):
            try: importlib.import_module(name)
            except ImportError: pass
try: ctypes.CDLL("libgcc_s.so.1")
except OSError: pass
with open("/proc/self/maps") as maps:
    mapped = sorted({line.split(None, 5)[5].rstrip() for line in maps if ".so" in line})
print(json.dumps({"places": sys.path, "mapped": mapped}))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """An executable and the files without which it does not run."""

    executable: Path
    folders: tuple[Path, ...]
    """Its standard library."""
    hidden: tuple[Path, ...]
    """Folders in those that hold packages of this machine."""
    files: tuple[Path, ...]
    """The executable and shared libraries."""
    links: tuple[tuple[Path, Path], ...]
    """Other names under which libraries are asked for: what, where."""

    @property
    def library_path(self) -> str:
        """The folders in which the loader has to look."""
        return ":".join(sorted({str(file.parent) for file in self.files if ".so" in file.name}))


@functools.cache
def interpreter() -> Interpreter:
    """The interpreter that runs this program, without its virtual environment."""
    executable = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    asked = subprocess.run([executable, "-I", "-S", "-c", _ASK], capture_output=True, check=True, timeout=120)
    told = json.loads(asked.stdout[asked.stdout.index(b"{") :])  # readline may greet the terminal first
    folders = _outermost([Path(place) for place in told["places"] if Path(place).is_dir()])
    mapped = [Path(one) for one in told["mapped"]]
    libraries = [one for one in mapped if one.is_file() and not _is_inside(one, folders)]
    return Interpreter(
        executable=executable,
        folders=folders,
        hidden=tuple(one for folder in folders for one in folder.glob("*-packages") if one.is_dir()),
        files=(executable, *libraries),
        links=(*_other_names(libraries), *_loader(executable, libraries)),
    )


def _outermost(folders: list[Path]) -> tuple[Path, ...]:
    return tuple(one for one in folders if not any(other in one.parents for other in folders))


def _is_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(folder in path.parents for folder in folders)


def _other_names(libraries: list[Path]) -> list[tuple[Path, Path]]:
    """Links beside a library that lead to it: programs ask for libz.so.1, the file is libz.so.1.2.13."""
    known = {str(one) for one in libraries}
    beside = [link.path for folder in {one.parent for one in libraries} for link in os.scandir(folder)]
    named = [(os.path.realpath(link), link) for link in beside if ".so" in link]
    return [(Path(real), Path(link)) for real, link in named if real in known and link not in known]


def _loader(executable: Path, libraries: list[Path]) -> list[tuple[Path, Path]]:
    """The place where the kernel looks for the loader, as the executable names it."""
    with executable.open("rb") as file:
        named = re.search(rb"\0(/[!-~]*/ld[!-~]*\.so[.0-9]*)\0", file.read(1 << 16))
    if named is None:
        return []
    place = Path(named[1].decode())
    return [] if place in libraries else [(place.resolve(), place)]
