"""The filter decides as the tables say, on both kinds of machine; a small machine of our own runs it."""

import fcntl
import re
import struct
from pathlib import Path

import pytest

from scalerl.sandbox.inside.seccomp import instructions
from scalerl.sandbox.inside.syscalls import MACHINES, allowed, checked, killed

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NOT_IMPLEMENTED, NO_TERMINAL, INVALID, NOT_PERMITTED = ERROR + 38, ERROR + 25, ERROR + 22, ERROR + 1
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h


def decision(machine, number, *arguments, architecture=None):
    """Classic BPF, as much of it as there is here."""
    data = struct.pack(
        "<IIQ6Q", number, architecture or ARCHITECTURE[machine], 0, *arguments, *[0] * (6 - len(arguments))
    )
    program = list(struct.iter_unpack("<HBBI", instructions(machine)))
    place = value = 0
    while True:
        code, then, otherwise, constant = program[place]
        place += 1
        if code == 0x06:
            return constant
        if code == 0x20:
            value = int.from_bytes(data[constant : constant + 4], "little")
        else:
            holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[code]
            place += then if holds else otherwise


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_is_decided_as_the_tables_say(machine):
    through, ends, special = (set(table(machine).values()) for table in (allowed, killed, checked))
    assert not through & ends and not (through | ends) & special
    for number in range(600):
        if number in special:
            continue
        expected = ALLOW if number in through else KILL if number in ends else NOT_IMPLEMENTED
        assert decision(machine, number) == expected, number


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_end_the_program(machine):
    other = ARCHITECTURE[next(one for one in MACHINES if one != machine)]
    assert decision(machine, allowed(machine)["read"], architecture=other) == KILL
    assert decision(machine, allowed(machine)["read"], architecture=0x40000003) == KILL  # i386
    assert decision(machine, 0x40000000) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_what_depends_on_arguments(machine):
    calls = checked(machine)
    assert decision(machine, calls["clone"], 0x3D0F00) == ALLOW  # what glibc starts a thread with
    assert decision(machine, calls["clone"], 0x1200011) == KILL  # and what it forks with
    assert decision(machine, calls["socket"], 1) == NOT_PERMITTED
    assert decision(machine, calls["socket"], 2) == decision(machine, calls["socket"], 10) == KILL
    assert decision(machine, calls["socketpair"], 1) == ALLOW
    assert decision(machine, calls["prctl"], 15) == ALLOW
    assert decision(machine, calls["prctl"], 22) == INVALID
    for question in (
        fcntl.F_DUPFD,
        fcntl.F_GETFD,
        fcntl.F_SETFD,
        fcntl.F_GETFL,
        fcntl.F_SETFL,
        fcntl.F_DUPFD_CLOEXEC,
    ):
        assert decision(machine, calls["fcntl"], 0, question) == ALLOW
    for question in (fcntl.F_SETLK, fcntl.F_SETLKW, 37, 38, fcntl.F_SETLEASE, fcntl.F_NOTIFY, fcntl.F_SETPIPE_SZ):
        assert decision(machine, calls["fcntl"], 0, question) == NOT_PERMITTED  # 37 and 38: locks of open files
    assert decision(machine, calls["ioctl"], 0, 0x5401) == ALLOW
    assert decision(machine, calls["ioctl"], 0, 0x5412) == NO_TERMINAL  # TIOCSTI, typing into a terminal


def test_numbers_are_those_of_the_kernel():
    headers = [*Path("/usr/include").glob("asm/unistd_64.h"), *Path("/usr/include").glob("*/asm/unistd_64.h")]
    if not headers:
        pytest.skip("no kernel headers here")
    known = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", headers[0].read_text())}
    for table in (allowed, killed, checked):
        for name, number in table("x86_64").items():
            assert known.get(name, number) == number
