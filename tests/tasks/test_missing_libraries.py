"""Tasks are light to import, and a library that is not installed is named with the command that installs it."""

import subprocess
import sys

import pytest

from scalerl.errors import InputError
from scalerl.recipe.tasks import Gym, Maths
from scalerl.tasks.building import task_of
from scalerl.tasks.dataset import rows


def test_building_tasks_loads_nothing_that_they_may_not_need():
    code = "import scalerl.tasks.building, scalerl.tasks.judging, scalerl.tasks.controls, sys; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "scipy", "sympy", "math_verify", "reasoning_gym", "pyarrow", "datasets", "transformers"}
    assert not heavy & set(found.stdout.split())


@pytest.mark.parametrize(
    ("section", "library", "message"),
    [
        (Maths(path="a.jsonl"), "math_verify", r"needs math-verify: pip install 'scalerl\[maths\]'"),
        (Gym(dataset="chain_sum"), "reasoning_gym", r"needs reasoning-gym: pip install 'scalerl\[gym\]'"),
    ],
)
def test_a_missing_library_is_named(section, library, message, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    with pytest.raises(InputError, match=message):
        task_of(section, num_held_out=1)


def test_json_lines_need_no_pyarrow_and_parquet_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.jsonl").write_text('{"question": "a"}\n')
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    assert [row.line for row in rows(str(tmp_path / "a.jsonl"), ["question"])] == [1]
    with pytest.raises(InputError, match=r"a.parquet: .* needs pyarrow: pip install 'scalerl\[parquet\]'"):
        list(rows(str(tmp_path / "a.parquet"), ["question"]))
