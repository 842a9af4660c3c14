"""Kill a tiny run at line after line of the code that writes it: `python killed_at_each_line.py FOLDER STRIDE`.

Each run is killed in its first life at the given line, in its second at a random one, and then ends undisturbed.
"""

import os
import random
import shutil
import signal
import sys
from pathlib import Path

NUM_STEPS = 6
CODE = f"{os.sep}scalerl{os.sep}run{os.sep}"


def life(train, path, kill_at=0):
    """Train in a process of its own that is killed at a line, or never; tell whether it was."""
    child = os.fork()
    if child == 0:
        sys.settrace(killer(kill_at) if kill_at else None)
        train(path, NUM_STEPS)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    return status == signal.SIGKILL


def killer(kill_at):
    left = kill_at

    def on_line(frame, event, _):
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return on_line

    return lambda frame, event, _: on_line if CODE in frame.f_code.co_filename else None


def tree(folder):
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    names = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return {name: content for name, content in names.items() if not name.startswith("aside/")}


def main(folder, stride):
    from tiny_run import train  # beside this script, but out of reach where pytest looks for doctests

    random.seed(0)
    assert not life(train, folder / "whole")
    whole, line = tree(folder / "whole"), 1
    while life(train, path := folder / "killed", line):
        life(train, path, random.randint(1, 600))
        assert not life(train, path)
        assert tree(path) == whole, line
        shutil.rmtree(path)
        line += stride
    print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
