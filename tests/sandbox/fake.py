"""A bwrap that is a program of ours."""

import sys
from pathlib import Path

from scalerl import sandbox

BEGIN = """#!{python}
import os, socket, sys, time
sys.path.insert(0, {inside!r})
number = int(sys.argv[sys.argv.index("-c") + 2])
"""


def fake_bwrap(folder, body):
    """Put one into a folder."""
    script = folder / "bwrap"
    script.write_text(BEGIN.format(python=sys.executable, inside=str(Path(sandbox.__file__).parent)) + body)
    script.chmod(0o755)
