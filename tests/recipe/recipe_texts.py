"""Recipes written to files, and the one line by which one is refused."""

from pathlib import Path

import pytest

from scalerl.errors import InputError
from scalerl.recipe.reading import load


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def refusal(source, overrides=()) -> str:
    with pytest.raises(InputError) as caught:
        load(source, overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)
