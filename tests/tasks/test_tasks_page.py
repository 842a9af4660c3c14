"""The sections that docs/tasks.md shows are sections that a recipe can have, one of each kind."""

import json
import re
import tomllib
from pathlib import Path

from scalerl.recipe.reading import from_mapping
from scalerl.tasks.code_rows import COLUMNS, problem_of
from scalerl.tasks.dataset import Row

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()


def test_the_sections_on_the_page_can_be_read():
    shown = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    recipes = [from_mapping(one) for one in shown]
    kinds = ["chain", "maths", "code", "code", "gym", "python", "mixture"]  # the second: problems that are shipped
    assert [recipe.task.kind for recipe in recipes] == kinds
    assert [part.name for part in recipes[-1].task.parts] == ["digits", "sums"]


def test_every_kind_has_its_place_on_the_page():
    assert all(f"| `{kind}` |" in PAGE for kind in ("chain", "maths", "code", "gym", "python", "mixture"))


def test_the_rows_and_columns_of_code_are_those_that_are_read():
    rows = [Row(cells=json.loads(line), file=Path("page"), line=1) for line in re.findall(r"^{.*}$", PAGE, re.M)]
    assert [problem_of(row).suite.entry for row in rows] == ["", "add"]
    assert all(f"`{column}`" in PAGE for column in COLUMNS)
