"""Hostile programs are contained, and leave nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import HOSTILE

from scalerl.sandbox import Job

NAMES = [one.name for one in HOSTILE]


def test_there_are_many_of_different_names():
    assert len(set(NAMES)) == len(NAMES) >= 100


@pytest.mark.parametrize("hostile", HOSTILE, ids=NAMES)
def test_contained(sandbox, hostile):
    outcome = sandbox.run(Job(source=hostile.source, entry=hostile.entry, limits=hostile.limits))
    assert outcome.kind in hostile.kinds, outcome
    assert hostile.detail in outcome.detail
    assert "ESCAPED" not in f"{outcome.stdout}{outcome.result}{outcome.detail}"
    assert len(outcome.detail) <= 300
    if hostile.stdout is not None:
        assert outcome.stdout.strip() == hostile.stdout
    if hostile.result is not None:
        assert outcome.result == hostile.result
    assert sandbox.run(Job(source="print(6 * 7)")).stdout == "42\n", "the next program pays for it"


def test_nothing_is_left_on_the_host(tmp_path):
    """A process to which orphans are given runs them all, and then looks at what there is more of than before."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path), "SECRET": "ESCAPED"}
    script = Path(__file__).with_name("leftovers.py")
    asked = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400
    )
    assert asked.returncode == 0, asked.stderr
    before, after, left = json.loads(asked.stdout)
    assert after == before
    assert left == {"shared memory": [], "sockets": []}
    assert before["children"] == []
    assert list(tmp_path.iterdir()) == []
