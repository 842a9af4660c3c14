"""Runs every hostile program once and prints what the host had before and has after, as JSON."""

import ctypes
import faulthandler
import json
import os
import sys
import sysconfig
import time
from dataclasses import replace
from pathlib import Path

from hostile import HOSTILE
from processes import below

from scalerl.sandbox import Job, Sandbox

SET_CHILD_SUBREAPER = 36
OF_LIBRARIES = ("sem.mp-", "psm_", "torch_", "plasma", "nccl-", "vllm_", "tmp")  # of those that run beside it
DEVICES = ("null", "zero", "full", "random", "urandom")


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
    return sorted(one.name for one in Path(folder).iterdir())


def host():
    wait_for_children()
    return {
        "children": children(),
        "descriptors": len(names("/proc/self/fd")),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "root": names("/"),
        "devices": names("/dev"),
        "times of devices": [Path("/dev", name).stat().st_mtime for name in DEVICES],
        "library": names(sysconfig.get_path("stdlib")),
        "shared memory": [line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if " 1234 " in line],
    }


def shared():
    """What others on this host make and end all the time too."""
    return {
        "shared memory": {one for one in names("/dev/shm") if not one.startswith(OF_LIBRARIES)},
        "sockets": sockets() - held_by_others(),
    }


def sockets():
    """Those that listen, of the whole host: kind, port or name, inode. In its way, a UDP socket does."""
    found = set()
    for kind, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        found |= {(kind, row[1], row[9]) for row in rows(kind) if row[3] == state}
    return found | {("unix", row[7], row[6]) for row in rows("unix") if len(row) > 7 and row[7].startswith("@")}


def rows(kind):
    place = Path("/proc/net", kind)
    return [line.split() for line in place.read_text().splitlines()[1:]] if place.exists() else []


def held_by_others():
    """Sockets of processes that are not below this one. Nothing that was ever below can leave: it gets orphans."""
    known = {inode: (kind, name, inode) for kind, name, inode in sockets()}
    own = {os.getpid(), *below(os.getpid())}
    others = [place for place in Path("/proc").glob("[0-9]*/fd/*") if int(place.parts[2]) not in own]
    return {known[inode] for inode in map(inode_of, others) if inode in known}


def inode_of(place):
    try:
        return str(place.readlink()).removeprefix("socket:[").removesuffix("]")
    except OSError:
        return ""


def left(known):
    """What there is more of than was known, once what others make has had some time to end."""
    deadline = time.monotonic() + 20
    while True:
        new = {name: sorted(now - known[name]) for name, now in shared().items()}
        if not any(new.values()) or time.monotonic() > deadline:
            return new
        time.sleep(0.5)


def main():
    faulthandler.dump_traceback_later(300, exit=True)  # it takes 15 seconds
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with Sandbox() as sandbox:
        sandbox.run(Job(source=""))
    before, known = host(), shared()
    with Sandbox() as sandbox:
        for one in HOSTILE:
            limits = replace(one.limits, seconds=0.5)
            outcome = sandbox.run(Job(source=one.source, entry=one.entry, limits=limits))
            print(f"{one.name}: {outcome.kind}", file=sys.stderr)
            assert outcome.kind != "broken", outcome.detail
    print(json.dumps([before, host(), left(known)]))


if __name__ == "__main__":
    main()
