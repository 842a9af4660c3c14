"""`scalerl doctor` tells what is there, and how to get what is not."""

import subprocess
import sys

import pytest

from scalerl.cli.machine import Found, parts
from scalerl.sandbox import unavailable

NAMES = [
    *("python", "cores", "memory", "torch", "gpu", "transformers", "ray", "vllm"),
    *("math-verify", "reasoning-gym", "pyarrow", "gguf", "tensorboard", "wandb", "sandbox"),
]


def rows(out: str) -> dict[str, str]:
    """The lines of each name as one."""
    found: dict[str, str] = {}
    for line in out.splitlines():
        name = line[:15].strip() or list(found)[-1]
        found[name] = f"{found.get(name, '')} {line[15:].strip()}".strip()
    return found


def test_every_part_has_a_line(scalerl):
    result = scalerl("doctor")
    assert result.code == 0 and list(rows(result.out)) == NAMES
    assert max(len(line) for line in result.out.splitlines()) <= 80
    assert rows(result.out)["python"].startswith("ok       3.1")
    state = "ok" if unavailable() is None else "missing"
    assert rows(result.out)["sandbox"].startswith(state) and 'task.kind = "code"' in rows(result.out)["sandbox"]


def test_the_same_as_json(scalerl):
    records = {one["name"]: one for one in scalerl("doctor", "--json").records}
    assert list(records) == NAMES
    assert records["sandbox"]["is_there"] is (unavailable() is None)
    assert set(records["gpu"]) == {"name", "is_there", "words", "enables"}


def test_a_missing_package_names_its_command(scalerl, monkeypatch):
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)  # as if it were not installed
    result = scalerl("doctor")
    words = "missing  pip install 'scalerl[gym]' · would enable task.kind = \"gym\""
    assert result.code == 0 and rows(result.out)["reasoning-gym"] == words


def test_what_is_needed_and_not_there_ends_with_two(scalerl, monkeypatch):
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    for arguments in (["--needs", "python,reasoning-gym"], ["--needs", "reasoning-gym", "--needs", "python"]):
        result = scalerl("doctor", *arguments)
        assert result.code == 2 and list(rows(result.out)) == NAMES
        assert result.err == "error: --needs what is not there: reasoning-gym (pip install 'scalerl[gym]')\n"
    assert scalerl("doctor", "--needs", "python, cores").code == 0


def test_a_need_that_nobody_knows(refused):
    assert "--needs is 'sandbocks'; expected some of python, cores, memory" in refused(
        "doctor", "--needs", "sandbocks"
    )


def test_without_bubblewrap_it_says_what_to_install(tmp_path):
    code = "import sys; from scalerl.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "doctor", "--needs", "sandbox"]
    found = subprocess.run(command, capture_output=True, text=True, env={"PATH": str(tmp_path), "COLUMNS": "80"})
    assert found.returncode == 2 and rows(found.stdout)["sandbox"].startswith("missing")
    assert "bubblewrap" in found.stderr and "install" in found.stderr


@pytest.mark.parametrize("name", NAMES)
def test_looking_never_fails(name):
    (part,) = (part for part in parts() if part.name == name)
    assert isinstance(part.look(), Found) and part.look().words
