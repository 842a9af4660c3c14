"""The system calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os

NEW_MOUNTS, NEW_IPC, NEW_PIDS = 0x00020000, 0x08000000, 0x20000000
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER_MODE, _SET_DUMPABLE = 38, 22, 2, 4
MAY_KILL = 1 << 5
_CAPABILITIES_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _checked(returned: int, what: str) -> None:
    if returned != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _prctl(option: int, *arguments: object) -> int:
    padded = [*arguments, *[ctypes.c_ulong(0)] * (4 - len(arguments))]
    return _libc.prctl(option, *padded)


def unshare(namespaces: int) -> None:
    """Leave these namespaces for new ones; of process ids, from the next child on."""
    _checked(_libc.unshare(namespaces), "unshare")


def mount_tmpfs(path: str, *, num_bytes: int, num_files: int, owner: int) -> None:
    """Mount an empty file system in memory, of limited size."""
    options = f"size={num_bytes},nr_inodes={num_files},mode=700,uid={owner},gid={owner}"
    flags = ctypes.c_ulong(_NOSUID | _NODEV | _NOEXEC)
    _checked(_libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options.encode()), "mount")


def remount_read_only(path: str) -> None:
    """Let nobody here change a mounted file; a device is written to all the same."""
    kept = os.statvfs(path).f_flag & (_NOSUID | _NODEV | _NOEXEC)
    flags = ctypes.c_ulong(_REMOUNT | _BIND | _READ_ONLY | kept)
    _checked(_libc.mount(None, path.encode(), None, flags, None), "mount")


def drop_capabilities(kept: int = 0) -> None:
    """Give up every capability but these, for good."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(kept, kept)  # effective, permitted and inheritable, lower and upper halves
    _checked(_libc.capset(header, sets), "capset")
    _checked(_prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1)), "prctl")


def forbid_dumps() -> None:
    """Let no core be dumped, not into a pipe either, which no limit on its size holds."""
    _checked(_prctl(_SET_DUMPABLE, ctypes.c_ulong(0)), "prctl")


def install_filter(instructions: bytes) -> None:
    """Let the kernel check every later system call of this process by a program of classic BPF."""
    program = _Filter(len(instructions) // 8, instructions)
    _checked(_prctl(_SET_FILTER, ctypes.c_ulong(_FILTER_MODE), ctypes.byref(program)), "seccomp")
