"""The command line of bubblewrap: which parts of this machine a worker sees."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from scalerl.sandbox.interpreter import Interpreter

NOBODY = 65534
INSIDE = Path(__file__).with_name("inside")
_NAMESPACES = ("ipc", "pid", "net", "uts", "cgroup-try")  # and mounts, always
_DEVICES = ("null", "zero", "full", "random", "urandom")
_KEPT = ("SYS_ADMIN", "SETUID", "SETGID", "KILL")  # over its own namespaces only; programs have none
_ENVIRONMENT = {
    "HOME": "/tmp",
    "PATH": "/nowhere",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # a verdict must not depend on the worker
    "MALLOC_ARENA_MAX": "1",  # each further one reserves 64 MiB of the address space, which is limited
}


def command(bwrap: str, python: Interpreter, users: int | None) -> list[str]:
    """The arguments that run `python` in a world of its own; what it is to run follows them.

    `users` is the descriptor of a user namespace that has root, and nobody, as whom programs run. Without it,
    there is only nobody.
    """
    nobody = ("--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY))
    return [
        bwrap,
        *(nobody if users is None else ("--userns", str(users))),
        *(f"--unshare-{kind}" for kind in _NAMESPACES),
        *("--as-pid-1", "--die-with-parent", "--new-session"),
        *("--clearenv", "--hostname", "sandbox", "--cap-drop", "ALL"),
        *chain.from_iterable(("--cap-add", f"CAP_{name}") for name in _KEPT),
        *_files(python),
        *chain.from_iterable(("--dev-bind", f"/dev/{name}", f"/dev/{name}") for name in _DEVICES),
        *("--symlink", "/job/stdin", "/dev/stdin", "--symlink", "/job/tmp", "/tmp", "--dir", "/job"),
        *("--ro-bind", str(INSIDE), "/judge/inside", "--remount-ro", "/", "--chdir", "/"),
        *chain.from_iterable(("--setenv", *item) for item in _ENVIRONMENT.items()),
        *("--setenv", "LD_LIBRARY_PATH", python.library_path),
        *(str(python.executable), "-s", "-S", "-P", "-B", "-X", "utf8"),
    ]


def _files(python: Interpreter) -> list[str]:
    places = (*python.folders, *python.files, *(where for _, where in python.links))
    parents = sorted({str(parent) for place in places for parent in place.parents} - {"/"} | {"/dev"})
    # Left to itself bubblewrap gives a folder the rights it has outside, and a home is often closed to others.
    above = [("--perms", "0755", "--dir", parent) for parent in parents]
    bound = [("--ro-bind", str(one), str(one)) for one in (*python.folders, *python.files)]
    linked = [("--symlink", str(what), str(where)) for what, where in python.links]
    hidden = [("--tmpfs", str(one), "--remount-ro", str(one)) for one in python.hidden]
    return list(chain.from_iterable((*above, *bound, *linked, *hidden)))
