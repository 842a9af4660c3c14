"""What the end of a program means, in the cases that cannot be had at will."""

import signal
from dataclasses import asdict

import pytest

from scalerl.sandbox import Limits
from scalerl.sandbox.inside.ending import Ending, judged

LIMITS = asdict(Limits(seconds=2, memory_mib=100))


def kind(*, number=0, most_kib=10_000, cpu_seconds=0.1, **more):
    """Of a program that this signal ended."""
    told = {"stopped": "", "stdout": b"", "stderr": b"", "report": b"", "status": number, **more}
    ending = Ending(most_kib=most_kib, cpu_seconds=cpu_seconds, **told)
    return judged(ending, LIMITS, has_entry=False)["kind"]


@pytest.mark.parametrize(("expected", "ending"), [
    ("forbidden", {"number": signal.SIGSYS}),
    ("time", {"number": signal.SIGXCPU, "cpu_seconds": 3.0}),
    ("time", {"number": signal.SIGKILL, "cpu_seconds": 4.0}),
    ("memory", {"number": signal.SIGKILL}),
    ("memory", {"number": signal.SIGSEGV, "most_kib": 95 * 1024}),
    ("error", {"number": signal.SIGSEGV}),
    ("error", {"number": signal.SIGXCPU}),
    ("error", {"number": 40}),
    ("time", {"stopped": "time", "number": signal.SIGKILL}),
    ("output", {"stopped": "output", "number": signal.SIGKILL}),
    ("error", {"status": 3 << 8}),
    ("error", {"status": 0, "report": b"Etold"}),
    ("memory", {"status": 1 << 8, "report": b"M"}),
    ("done", {"status": 0}),
])  # fmt: skip
def test_kind(expected, ending):
    assert kind(**ending) == expected
