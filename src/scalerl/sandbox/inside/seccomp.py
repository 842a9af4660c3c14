"""The filter over a program's system calls, as classic BPF for the kernel's seccomp."""

from __future__ import annotations

import struct

from . import syscalls

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000  # a refusal adds the error's number
_NOT_PERMITTED, _INVALID, _NO_TERMINAL, _NOT_IMPLEMENTED = 1, 22, 25, 38
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_END = 0x40000000  # from here on, numbers belong to another calling convention of x86

_THREAD = 0x00010000
_UNIX = 1
_SET_NAME, _GET_NAME = 15, 16
# Copies, flags and a pipe's size. Locks and leases would be on files of the host; a pipe could be made large.
_DESCRIPTOR_QUESTIONS = (0, 1, 2, 3, 4, 1030, 1032)
_TERMINAL_QUESTIONS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # settings, size, bytes waiting, flags

Instruction = tuple[int, int, int, int]
"""What to do, how far to jump if it holds and if not, and a number."""


def instructions(machine: str) -> bytes:
    """The filter for this kind of machine."""
    blocks = _blocks(machine)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for end, block in _spans(blocks):
        program += [(_AT_LEAST, len(block), 0, end), *block]
    program.append((_RETURN, 0, 0, _KILL))
    return b"".join(struct.pack("<HBBI", *one) for one in program)


def _blocks(machine: str) -> dict[int, list[Instruction]]:
    """What is done about each call that is not simply unknown."""
    calls = syscalls.checked(machine)
    return {
        **{number: [(_RETURN, 0, 0, _ALLOW)] for number in syscalls.allowed(machine).values()},
        **{number: [(_RETURN, 0, 0, _KILL)] for number in syscalls.killed(machine).values()},
        calls["clone"]: _if(0, [(_ANY_BIT, _THREAD)], _ALLOW, _KILL),
        calls["socket"]: _if(0, [(_EQUAL, _UNIX)], _REFUSE + _NOT_PERMITTED, _KILL),
        calls["socketpair"]: _if(0, [(_EQUAL, _UNIX)], _ALLOW, _KILL),
        calls["prctl"]: _if(0, [(_EQUAL, one) for one in (_SET_NAME, _GET_NAME)], _ALLOW, _REFUSE + _INVALID),
        calls["fcntl"]: _if(1, [(_EQUAL, one) for one in _DESCRIPTOR_QUESTIONS], _ALLOW, _REFUSE + _NOT_PERMITTED),
        calls["ioctl"]: _if(1, [(_EQUAL, one) for one in _TERMINAL_QUESTIONS], _ALLOW, _REFUSE + _NO_TERMINAL),
    }


def _if(argument: int, tests: list[tuple[int, int]], then: int, otherwise: int) -> list[Instruction]:
    """One answer where any test of an argument's lower half holds, and another where none does."""
    jumps = [(test, len(tests) - place, 0, number) for place, (test, number) in enumerate(tests)]
    return [
        (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * argument),
        *jumps,
        (_RETURN, 0, 0, otherwise),
        (_RETURN, 0, 0, then),
    ]


def _spans(blocks: dict[int, list[Instruction]]) -> list[tuple[int, list[Instruction]]]:
    """Runs of numbers with the same answer, in order, each with the number after its last."""
    unknown: list[Instruction] = [(_RETURN, 0, 0, _REFUSE + _NOT_IMPLEMENTED)]
    spans: list[tuple[int, list[Instruction]]] = []
    for number in range(max(blocks) + 1):
        block = blocks.get(number, unknown)
        if spans and spans[-1][1] == block:
            spans.pop()
        spans.append((number + 1, block))
    return [*spans, (_END, unknown)]
