"""The command as a process: what it loads, how it ends."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from scalerl.cli import fitting, reading
from scalerl.scaling.curve import UNITS
from scalerl.scaling.fit import METHODS
from scalerl.scaling.law import LAWS

HEAVY = ("numpy", "scipy", "matplotlib", "torch")
LOADED = f"""
import sys
from scalerl.cli import run
code = run(sys.argv[1:])
print("loaded:", *[name for name in {HEAVY} if name in sys.modules])
sys.exit(code)
"""


def call(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    "command", [[], *([name] for name in ("fit", "forecast", "compare", "budget", "backtest", "report"))]
)
def test_help_loads_nothing_heavy(command):
    result = call("-c", LOADED, *command, "--help")
    assert result.returncode == 0
    assert "Usage: scalerl" in result.stdout
    assert result.stdout.rstrip().endswith("loaded:")


def test_help_costs_little_more_than_its_own_library():
    """On a quiet machine it takes a sixth of a second; what it must not load is tested by name."""
    call("-m", "scalerl", "--help")  # compile
    ours, library = [], []
    for _ in range(5):
        library.append(cpu_seconds("-c", "import typer, rich.panel, rich.table"))
        ours.append(cpu_seconds("-m", "scalerl", "--help"))
    assert min(ours) < 5 * min(library)


def cpu_seconds(*arguments):
    """Of a child, whoever shares the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_every_option_has_one_line_of_help(scalerl):
    for command in ("fit", "forecast", "compare", "budget", "backtest", "report"):
        lines = scalerl(command, "--help").out.splitlines()
        assert not [line for line in lines if line.startswith("│" + " " * 12)], command


@pytest.mark.parametrize("command", [[], ["train"], ["show"], ["fit"], ["eval"], ["recipes"]])
def test_flags_take_no_value(scalerl, command):
    assert "<bool>" not in scalerl(*command, "--help").out


def test_the_first_sentence_speaks_of_training_and_of_forecasts(scalerl):
    first = " ".join(scalerl("--help").out.split("╭")[0].split())
    assert "Train language models" in first and "where the rest will end" in first


def test_version(scalerl):
    assert scalerl("--version").out == "scalerl 0.1.0\n"


def test_nothing_asked_shows_help(scalerl):
    assert "Usage: scalerl" in scalerl().out


def test_choices_are_those_of_the_layers_below():
    assert tuple(LAWS) == fitting.LAWS
    assert METHODS == fitting.METHODS
    assert UNITS == reading.UNITS


def test_bad_input_ends_with_one_line():
    result = call("-m", "scalerl", "fit", "nowhere.csv")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "error: nowhere.csv: there is no such file or directory\n"


def test_broken_pipe_is_quiet(noisy):
    process = subprocess.Popen(
        [sys.executable, "-m", "scalerl", "fit", str(noisy())], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # as `head` does once it has seen enough
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


def test_a_terminal_without_dashes(noisy):
    result = call("-m", "scalerl", "fit", str(noisy()), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0 and result.stderr == ""


def test_interrupt_is_quiet(scalerl, noisy, monkeypatch):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background of a script ignores it
    monkeypatch.setattr("scalerl.scaling.fit.fit", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    result = scalerl("fit", noisy())
    assert (result.code, result.out, result.err) == (130, "", "")
