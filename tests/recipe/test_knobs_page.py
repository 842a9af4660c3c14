"""The page of knobs is complete, and the one in docs is the one that is generated."""

import re
import subprocess
import sys
from pathlib import Path

from scalerl.recipe.keys import known_keys
from scalerl.recipe.knobs import knobs_page

PAGE = Path(__file__).parents[2] / "docs" / "knobs.md"


def test_docs_hold_the_generated_page():
    assert PAGE.read_text() == knobs_page(), "run: python -m scalerl.recipe.knobs > docs/knobs.md"


def test_the_module_prints_the_page():
    found = subprocess.run(
        [sys.executable, "-m", "scalerl.recipe.knobs"], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert found.stdout == knobs_page() and found.stderr == ""


def test_every_knob_has_a_row_or_a_heading():
    page = knobs_page()
    rows = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", page, flags=re.MULTILINE))
    kinds = {"loss.kind", "length.kind", "task.kind"}
    assert rows == set(known_keys()) - kinds | {"name", "weight", "task"}
    headings = re.findall(r'^### (\w+)\.kind = "(\w+)"( \(default\))?$', page, flags=re.MULTILINE)
    assert [(section, kind) for section, kind, default in headings if default] == [
        ("task", "chain"),
        ("length", "interruption"),
        ("loss", "cispo"),
    ]
    assert len(headings) == 6 + 3 + 5


def test_rows_say_type_default_bounds_and_sentence():
    page = knobs_page()
    assert "| `steps` | whole number | `1000` | at least 0 | Optimizer steps. |\n" in page
    assert (
        "| `optimizer.betas` | list of 2 numbers | `[0.9, 0.95]` | at least 0, below 1 | Decay of the two" in page
    )
    assert '| `objective.zero_variance` | `drop`, `keep` | `"drop"` |  | What happens' in page
    assert '| `task` | section: `chain`, `maths`, `code`, `gym`, `python` | `kind = "chain"` |  | ' in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert all(re.search(r"\S \|$", row) for row in rows)


def test_recipes_load_nothing_heavy():
    code = (
        "import sys; from scalerl.recipe.reading import load; from scalerl.recipe.writing import to_toml\n"
        "to_toml(load('demo')); import scalerl.recipe.knobs, scalerl.recipe.differences; print(*sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in found.stdout.split()}
    assert not loaded & {"numpy", "torch", "scipy", "matplotlib", "rich", "typer", "transformers"}
