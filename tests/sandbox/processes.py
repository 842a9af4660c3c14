"""Looking at processes from outside."""

import time
from contextlib import suppress
from pathlib import Path


def below(pid):
    """The processes below one, whichever of its threads started them."""
    found = []
    with suppress(OSError):  # it has just ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # a thread has
                found += map(int, (task / "children").read_text().split())
    return sorted({*found, *(inner for one in found for inner in below(one))})


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
