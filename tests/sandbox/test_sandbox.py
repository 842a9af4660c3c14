"""Honest programs run as they would anywhere, and know nothing of each other."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalerl.sandbox import Job, Limits, Sandbox

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def stdout(sandbox, source, stdin="", **more):
    outcome = sandbox.run(Job(source=source, stdin=stdin, **more))
    assert outcome.kind == "done", outcome
    return outcome.stdout


def result(sandbox, source, entry, *arguments):
    outcome = sandbox.run(Job(source=source, entry=entry, arguments=json.dumps(arguments)))
    assert outcome.kind == "done", outcome
    return json.loads(outcome.result)


@pytest.mark.parametrize("read", [
    "print(int(input()) + int(input()))",
    "import sys\nprint(sum(map(int, sys.stdin)))",
    "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "print(sum(map(int, open(0).read().split())))",
    "import os\nprint(sum(map(int, os.read(0, 100).split())))",
    "print(sum(map(int, open('/dev/stdin').read().split())))",
    "import sys\nsys.stdout.write(str(sum(map(int, sys.stdin.readlines()))) + '\\n')",
    "def main():\n    print(sum(int(input()) for _ in range(2)))\nif __name__ == '__main__':\n    main()",
    "import fileinput\nprint(sum(map(int, fileinput.input())))",
])  # fmt: skip
def test_a_sum_is_read_in_every_usual_way(sandbox, read):
    assert stdout(sandbox, read, "3\n4\n") == "7\n"


def test_what_programs_import_is_there(sandbox):
    names = "typing collections math heapq bisect itertools functools re random decimal fractions string operator"
    names += " statistics datetime json array copy queue hashlib zlib bz2 lzma sqlite3 ssl asyncio unittest csv"
    assert stdout(sandbox, "\n".join(f"import {name}" for name in names.split()) + "\nprint(1)") == "1\n"


def test_asyncio_runs(sandbox):
    source = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    print('ran')\nasyncio.run(f())"
    assert stdout(sandbox, source) == "ran\n"


def test_a_thread_with_a_large_stack_recurses_deeply(sandbox):
    source = """
import sys, threading
threading.stack_size(1 << 27)
sys.setrecursionlimit(1 << 20)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
thread = threading.Thread(target=lambda: print(depth(100_000)))
thread.start()
thread.join()
"""
    assert stdout(sandbox, source) == "100000\n"


def test_a_program_has_the_whole_of_the_usual_recursion_limit(sandbox):
    source = "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\nprint(depth({}))"
    assert stdout(sandbox, source.format(990)) == "990\n"
    assert sandbox.run(Job(source=source.format(1010))).kind == "error"


def test_files_can_be_written_and_read_at_home(sandbox):
    source = """
import os, tempfile, shutil
open('a', 'w').write('1')
shutil.copy('a', 'b')
with tempfile.NamedTemporaryFile('w+') as file:
    file.write(open(os.path.expanduser('~/b')).read() + open('/tmp/a').read())
    file.seek(0)
    print(file.read())
"""
    assert stdout(sandbox, source) == "11\n"


def test_devices_work(sandbox):
    source = """
import os
print(open('/dev/null', 'w').write('gone'), open('/dev/null').read() == '')
print(*(len(set(open(f'/dev/{name}', 'rb').read(64))) > 1 for name in ('zero', 'random', 'urandom')))
os.write(os.open('/dev/zero', os.O_RDWR), b'gone')
"""
    assert stdout(sandbox, source) == "4 True\nFalse True True\n"


def test_a_socketpair_and_a_pipe_carry_what_is_written(sandbox):
    source = """
import os, socket
a, b = socket.socketpair()
b.settimeout(5)
a.sendall(b'sent')
read, write = os.pipe()
os.dup(write)
os.write(write, b.recv(4))
print(os.read(read, 4).decode(), os.get_blocking(read), os.get_inheritable(read))
"""
    assert stdout(sandbox, source) == "sent True False\n"


def test_a_database_in_memory_works(sandbox):
    source = "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()[0])"
    assert stdout(sandbox, source) == "42\n"


def test_what_is_due_at_the_end_is_done(sandbox):
    source = """
import atexit, sys, threading, time
atexit.register(print, 'at exit')
threading.Thread(target=lambda: (time.sleep(.1), print('thread'))).start()
print('main', end=' ')
sys.exit()
"""
    assert stdout(sandbox, source) == "main thread\nat exit\n"


@pytest.mark.parametrize("source", [
    "print(1)\nexit()", "print(1)\nquit(0)", "import sys\nprint(1)\nsys.exit(None)",
    "import os\nos.write(1, b'1\\n')", "file = open(1, 'w')\nfile.write('1\\n')",
    "import io\nout = io.BufferedWriter(io.FileIO(1, 'w'))\nout.write(b'1\\n')",
    "import io, sys\nprint(1)\nsys.stdout = io.StringIO()\nprint(2)",
    "import sys\nprint(1)\nsys.stdout.close()",
    "import sys\nclass Fast:\n    def write(self, text): self.text = text\n"
    "    def flush(self): sys.__stdout__.write(self.text)\nsys.stdout = Fast()\nsys.stdout.write('1\\n')",
])  # fmt: skip
def test_nothing_written_is_lost_however_a_program_ends(sandbox, source):
    assert stdout(sandbox, source) == "1\n"


@pytest.mark.parametrize(("source", "detail"), [
    ("1 / 0", "ZeroDivisionError: division by zero"),
    ("import sys\nsys.exit(3)", "exit code 3"),
    ("raise SystemExit('told')", "told"),
    ("import sys\nprint('why', file=sys.stderr)\nsys.exit(1)", "why"),
    ("x = (", "SyntaxError: '(' was never closed (main.py, line 1)"),
    ("input()", "EOFError: EOF when reading a line"),
    ("import numpy", "ModuleNotFoundError: No module named 'numpy'"),
])  # fmt: skip
def test_an_error_is_told_in_one_line(sandbox, source, detail):
    outcome = sandbox.run(Job(source=source))
    assert (outcome.kind, outcome.detail) == ("error", detail)


def test_output_before_an_error_is_kept(sandbox):
    outcome = sandbox.run(Job(source="print('so far')\n1 / 0"))
    assert (outcome.kind, outcome.stdout) == ("error", "so far\n")


def test_a_function_is_called(sandbox):
    assert result(sandbox, "def add(a, b): return a + b", "add", 3, 4) == 7


def test_a_method_of_solution_is_called(sandbox):
    source = "from typing import List\nclass Solution:\n    def total(self, xs: List[int]): return sum(xs)"
    assert result(sandbox, source, "total", [1, 2, 3]) == 6


@pytest.mark.parametrize(("source", "expected"), [
    ("import bisect\nclass Solution:\n    def bisect(self, x): return x + 1", 8),
    ("from math import *\nclass Solution:\n    def bisect(self, x): return gcd(x, 14)", 7),
    ("from bisect import bisect\nclass Solution:\n    def bisect(self, x): return x + 1", 8),
    ("import bisect\nclass Solution:\n    def __init__(self): self.bisect = lambda x: x + 1", 8),
    ("class Solution:\n    def bisect(self, x): return x + 1\ndef bisect(x): return x + 2", 9),
    ("class Solution: pass\ndef bisect(x): return x + 2", 9),
    ("import functools\nclass Solution:\n    bisect = None\n@functools.cache\ndef bisect(x): return x + 2", 9),
    ("import math\nbisect = math.factorial", 5040),
    ("import math\nclass Solution: pass\nbisect = math.factorial", 5040),
])  # fmt: skip
def test_a_method_may_have_the_name_of_something_imported(sandbox, source, expected):
    assert result(sandbox, source, "bisect", 7) == expected


def test_whole_numbers_of_any_length_go_in_and_out(sandbox):
    long = "1" * 6000
    outcome = sandbox.run(Job(source="def f(x): return [x]", entry="f", arguments=f"[{long}]"))
    assert (outcome.kind, outcome.result) == ("done", f"[{long}]")
    limited = sandbox.run(Job(source="def f(x): return str(x)", entry="f", arguments=f"[{long}]"))
    assert (limited.kind, limited.detail[:10]) == ("error", "ValueError")


def test_a_main_block_is_not_run_beside_an_entry(sandbox):
    assert result(sandbox, "def f(): return 1\nif __name__ == '__main__':\n    f = None", "f") == 1


def test_what_an_entry_prints_is_apart_from_its_result(sandbox):
    outcome = sandbox.run(Job(source="def f():\n    print('noise')\n    return [1]", entry="f"))
    assert (outcome.stdout, outcome.result) == ("noise\n", "[1]")


def test_a_missing_entry_is_the_programs_error(sandbox):
    outcome = sandbox.run(Job(source="def g(): pass", entry="f"))
    assert outcome.kind == "error"
    assert "no function 'f'" in outcome.detail


@pytest.mark.parametrize("arguments", ['{"a": 1}', "1", "not JSON"])
def test_arguments_that_are_no_array_are_the_askers_mistake(arguments):
    with pytest.raises(ValueError):
        Job(source="", entry="f", arguments=arguments)


@pytest.mark.parametrize("wrong", [
    {"seconds": 0}, {"seconds": float("nan")}, {"seconds": float("inf")}, {"memory_mib": 1}, {"processes": 0},
])  # fmt: skip
def test_limits_under_which_nothing_runs_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Limits(**wrong)


def test_the_memory_limit_is_the_one_asked_for(sandbox):
    source = "x = bytearray(300 << 20)\nprint(len(x) >> 20)"
    assert stdout(sandbox, source, limits=Limits(memory_mib=512)) == "300\n"
    assert sandbox.run(Job(source=source, limits=Limits(memory_mib=256))).kind == "memory"


def test_output_up_to_the_limit_comes_back_whole(sandbox):
    for length, kind in ((1000, "done"), (1001, "output")):
        outcome = sandbox.run(Job(source=f"print('x' * {length}, end='')", limits=Limits(output_bytes=1000)))
        assert (outcome.kind, outcome.stdout) == (kind, "x" * 1000)


def test_long_input_and_output(sandbox):
    text = "0123456789\n" * 500_000
    echo = "import sys\nsys.stdout.write(sys.stdin.read())"
    assert stdout(sandbox, echo, text, limits=Limits(output_bytes=1 << 23, seconds=30)) == text


def test_a_late_program_costs_its_limit_and_little_more(sandbox):
    outcome = sandbox.run(Job(source="while True: pass", limits=Limits(seconds=0.2)))
    assert outcome.kind == "time"
    assert 0.2 <= outcome.seconds < 10


@pytest.mark.parametrize(("leave", "look"), [
    ("open('/tmp/left', 'w').write('x')", "import os\nprint(os.listdir('/tmp') == [])"),
    ("open('/job/left', 'w').write('x')", "import os\nprint(set(os.listdir('/job')) == {'tmp', 'stdin'})"),
    ("import builtins\nbuiltins.print = None", "print(True)"),
    ("import sys\nsys.setrecursionlimit(60)", "import sys\nprint(sys.getrecursionlimit() >= 1000)"),
    ("import os\nos.environ['LEFT'] = '1'", "import os\nprint('LEFT' not in os.environ)"),
    ("import sys\nsys.modules['left'] = sys", "import sys\nprint('left' not in sys.modules)"),
    ("import os\nos.umask(0)\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
     "import os\nprint(os.umask(0) != 0 and len(os.sched_getaffinity(0)) > 1)"),
    ("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
     "import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU)[0] > 1)"),
])  # fmt: skip
def test_nothing_passes_from_one_program_to_the_next(sandbox, leave, look):
    assert stdout(sandbox, leave) == ""
    assert stdout(sandbox, look) == "True\n"


# Looks through this process's memory around small and large objects for a word that it is given backwards. The
# kernel copies each page into a pipe, and refuses where there is none.
SEARCH = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
word = sys.stdin.read().strip()[::-1].encode()
page, found, (read, write) = 4096, 0, os.pipe()
for around in (id(object()) & -page, id(bytes(5000)) & -page):
    for start in range(around - (32 << 20), around + (32 << 20), page):
        if libc.write(write, ctypes.c_void_p(start), ctypes.c_size_t(page)) == page:
            found += os.read(read, page).count(word)
print('found' if found > 20 else 'not found')
"""


def test_the_memory_of_a_program_holds_nothing_of_the_last_one(sandbox):
    secret = "Zyzzyva-7319"
    assert stdout(sandbox, f"kept = {secret * 200!r}\n" + SEARCH, secret[::-1]) == "found\n", "the search works"
    echo = f"x = {secret * 200!r}\nimport sys\nprint(x, sys.stdin.read())"
    for _ in range(5):
        assert secret in stdout(sandbox, echo, secret * 5000)
    assert stdout(sandbox, SEARCH, secret[::-1]) == "not found\n"


def test_random_numbers_differ_and_hashes_do_not(sandbox):
    draws = {stdout(sandbox, "import random\nprint(random.random())") for _ in range(5)}
    assert len(draws) == 5
    with Sandbox() as another:
        assert stdout(sandbox, "print(hash('a'))") == stdout(another, "print(hash('a'))")


@given(PLAIN_TEXT)
@settings(max_examples=60)
def test_any_text_comes_back_as_it_is(sandbox, text):
    assert stdout(sandbox, "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", text) == text


@given(st.binary())
@settings(max_examples=30)
def test_any_bytes_come_back_as_text(sandbox, data):
    written = stdout(sandbox, f"import sys\nsys.stdout.buffer.write({data!r})")
    assert written == data.decode("utf-8", "replace")


@given(st.lists(JSON, max_size=3))
@settings(max_examples=60)
def test_any_arguments_come_back_as_they_are(sandbox, arguments):
    assert result(sandbox, "def f(*given): return given", "f", *arguments) == arguments


@given(st.permutations(range(12)))
@settings(max_examples=5)
def test_results_depend_neither_on_order_nor_on_neighbours(sandbox, order):
    def asked(number):
        bomb = ["while True: pass", "import os\nos.fork()", "x = [0] * (1 << 40)", f"print({number})"][number % 4]
        outcome = sandbox.run(Job(source=bomb, limits=Limits(seconds=0.3 if number % 4 == 0 else 30)))
        return outcome.kind, outcome.stdout

    expected = [("time", ""), ("forbidden", ""), ("memory", ""), ("done", None)]
    with ThreadPoolExecutor(4) as pool:
        for number, (kind, text) in zip(order, pool.map(asked, order), strict=True):
            assert kind == expected[number % 4][0]
            assert text == ("" if kind != "done" else f"{number}\n")


def test_as_many_run_at_once_as_threads_ask():
    """Each waits for the others through nothing but time: all three must be under way together."""
    with Sandbox() as sandbox, ThreadPoolExecutor(3) as pool:
        job = Job(
            source="import time\nb = time.time()\ntime.sleep(6)\nprint(b, time.time())", limits=Limits(seconds=60)
        )
        spans = [tuple(map(float, one.stdout.split())) for one in pool.map(sandbox.run, [job] * 3)]
    assert max(begin for begin, _ in spans) < min(end for _, end in spans) or os.cpu_count() == 1


def test_a_worker_outlives_the_thread_that_first_asked():
    with Sandbox() as sandbox:
        ids = []
        for _ in range(3):
            thread = threading.Thread(target=lambda: ids.append(stdout(sandbox, "print(id(print))")))
            thread.start()
            thread.join()
    assert len(set(ids)) == 1, "one worker, whose address space is randomised at its start, answered all"
