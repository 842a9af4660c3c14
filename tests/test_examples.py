"""The examples and the commands of the README run as they stand."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def run(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


def without_numbers(text: str) -> str:
    return re.sub(r"[\d.,]+", "#", " ".join(text.split()))


def test_forecast_in_fifteen_lines():
    printed = run(sys.executable, "examples/forecast_a_curve.py")
    assert "forecast at 16,000 GPU-hours: 0.5" in printed and "what came: 0.600" in printed


def test_bundled_curves_are_what_their_script_makes(tmp_path):
    code = "import sys; sys.path.append('examples'); import make_curves, pathlib;"
    run(sys.executable, "-c", f"{code} make_curves.HERE = pathlib.Path({str(tmp_path)!r}); make_curves.main()")
    for path in (ROOT / "examples" / "curves").glob("*.csv"):
        assert (tmp_path / path.name).read_text() == path.read_text()


def test_readme_shows_what_a_forecast_prints():
    recipe = re.search(r"^forecast:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    first = recipe.group(1).splitlines()[0].strip().replace("$(BIN)/scalerl", "")
    printed = run(sys.executable, "-m", "scalerl", *shlex.split(first))
    assert without_numbers(printed) in without_numbers(README)


FORECASTING = "fit|forecast|compare|budget|backtest|report"
COMMANDS = re.findall(rf"^scalerl ((?:{FORECASTING}) [^#\n]*)", README, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_work(command, tmp_path):
    (tmp_path / "runs").mkdir()
    for name in ("run", "a", "b", "a1", "a2", "a3", "b1", "b2", "runs/one", "runs/two"):
        source = "batch-768" if name.startswith(("a", "run")) else "batch-2048"
        (tmp_path / f"{name}.csv").write_text((ROOT / "examples" / "curves" / f"{source}.csv").read_text())
    command = command.replace("runs/*.csv", "runs/one.csv runs/two.csv")
    assert run(sys.executable, "-m", "scalerl", *shlex.split(command), cwd=tmp_path) or "report" in command
