"""Behind bubblewrap alone, before any filter and limit, there is nothing of the host either."""

import json
import os
import shutil
import socket
import subprocess

import pytest

from scalerl.sandbox.bubblewrap import command
from scalerl.sandbox.interpreter import interpreter

LOOK = """
import json, os, socket, sys

def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    return "ESCAPED"

port, name = int(sys.argv[1]), "\\0" + sys.argv[2]
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname())
print(json.dumps({
    "interfaces": [name for _, name in socket.if_nameindex()],
    "loopback of the host": tried(lambda: socket.create_connection(("127.0.0.1", port), timeout=20)),
    "abstract socket of the host": tried(lambda: socket.socket(socket.AF_UNIX).connect(name)),
    "beyond": tried(lambda: socket.create_connection(("192.0.2.1", 80), timeout=20)),
    "signal": tried(lambda: [os.kill(pid, 9) for pid in range(2, 3000)]),
    "everyone": tried(lambda: os.kill(-1, 9)),
    "write": [tried(lambda: open(place + "/x", "w")) for place in ("/", "/dev", "/usr", "/judge", sys.prefix)],
    "pid": os.getpid(),
    "root": sorted(os.listdir("/")),
    "links to the host": sorted(set(os.listdir("/dev")) - {"null", "zero", "full", "random", "urandom", "stdin"}),
    "hostname": socket.gethostname(),
}))
"""


@pytest.fixture(scope="module")
def seen():
    abstract = f"scalerl-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{abstract}")
        local.listen()
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # from here it can be reached
        wall = command(shutil.which("bwrap"), interpreter(), None)
        asked = subprocess.run(
            [*wall, "-c", LOOK, str(port), abstract], capture_output=True, text=True, timeout=120
        )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def test_there_is_no_network_but_a_loopback_of_its_own(seen):
    assert seen["interfaces"] == ["lo"]
    assert seen["loopback of the host"] == "ConnectionRefusedError"
    assert seen["abstract socket of the host"] == "ConnectionRefusedError"
    assert seen["beyond"] == "OSError"


def test_there_is_no_other_process(seen):
    assert seen["pid"] == 1
    assert seen["signal"] == seen["everyone"] == "ProcessLookupError"


def test_nothing_can_be_written(seen):
    assert set(seen["write"]) <= {"OSError", "PermissionError"}


def test_only_what_the_interpreter_needs_is_seen(seen):
    own = {part.parts[1] for part in (*interpreter().files, *interpreter().folders)}
    loaders = {where.parts[1] for _, where in interpreter().links}
    assert set(seen["root"]) == own | loaders | {"dev", "job", "judge", "tmp"}
    assert seen["links to the host"] == []
    assert seen["hostname"] == "sandbox"


def test_a_home_folder_is_bound_by_the_interpreters_own_folders_only():
    bound = [*interpreter().folders, *interpreter().files]
    assert all(one.is_file() or one.name.startswith("python3") for one in bound)
    assert not any(one.is_relative_to(other) for one in bound for other in bound if one != other)
