"""Runs every hostile program once and prints what the host had before and has after, as JSON."""

import ctypes
import json
import os
import sys
import sysconfig
import time
from dataclasses import replace
from pathlib import Path

from hostile import HOSTILE

from scalerl.sandbox import Job, Sandbox

SET_CHILD_SUBREAPER = 36


def children():
    stats = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            stats.append(place.read_text().rpartition(")")[2].split())
        except OSError:
            continue
    return [" ".join(fields[:2]) for fields in stats if int(fields[1]) == os.getpid()]


def wait_for_children():
    """Orphans become children of this process; those that were just killed need a moment."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        time.sleep(0.01)


def names(folder):
    return sorted(one.name for one in Path(folder).iterdir() if one.name != "shm")


def host():
    wait_for_children()
    return {
        "children": children(),
        "descriptors": len(names("/proc/self/fd")),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "root": names("/"),
        "devices": names("/dev"),
        "library": names(sysconfig.get_path("stdlib")),
        "shared memory": [line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if " 1234 " in line],
        "abstract sockets": Path("/proc/net/unix").read_text().count("@left"),
        "ports": sorted(line.split()[1] for line in listening() if line.split()[9] in own_sockets()),
    }


def listening():
    """Rows of sockets that listen, of both families."""
    rows = [row for family in ("tcp", "tcp6") for row in Path(f"/proc/net/{family}").read_text().splitlines()[1:]]
    return [row for row in rows if row.split()[3] == "0A"]


def own_sockets():
    links = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(one.readlink()))
        except OSError:
            continue
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def main():
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with Sandbox() as sandbox:
        sandbox.run(Job(source=""))
    before = host()
    with Sandbox() as sandbox:
        for one in HOSTILE:
            limits = replace(one.limits, seconds=0.5)
            outcome = sandbox.run(Job(source=one.source, entry=one.entry, limits=limits))
            print(f"{one.name}: {outcome.kind}", file=sys.stderr)
    print(json.dumps([before, host()]))


if __name__ == "__main__":
    main()
