"""The sections that docs/tasks.md shows are sections that a recipe can have, one of each kind."""

import re
import tomllib
from pathlib import Path

from scalerl.recipe.reading import from_mapping

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text()


def test_the_sections_on_the_page_can_be_read():
    shown = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)]
    recipes = [from_mapping(one) for one in shown]
    assert [recipe.task.kind for recipe in recipes] == ["chain", "maths", "gym", "python", "mixture"]
    assert [part.name for part in recipes[-1].task.parts] == ["digits", "sums"]


def test_every_kind_has_its_place_on_the_page():
    assert all(f"| `{kind}` |" in PAGE for kind in ("chain", "maths", "gym", "python", "mixture"))
