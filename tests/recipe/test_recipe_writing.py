"""A recipe that is written and read again is the same recipe."""

import tomllib
from dataclasses import replace
from typing import Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.recipe.checks import check
from scalerl.recipe.keys import is_section, item_section, keys_of, kinds_of, leaves_of
from scalerl.recipe.lengths import Interruption, Penalty
from scalerl.recipe.named import names
from scalerl.recipe.reading import from_mapping, load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Optimizer
from scalerl.recipe.tasks import Chain, Code, Gym, Maths, Mixture, Part, Python
from scalerl.recipe.writing import to_toml

NASTY = st.sampled_from(
    ["", '"', "'", '"""', "\\", "\n", "\r\n", "\t\x00\x7f\x1f", "a # b", "{close}", "é 漢 🙂 \u2028", "[x]"]
)
TEXT = st.text(max_size=12) | NASTY
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
OPTIONS = st.dictionaries(
    TEXT,
    st.recursive(
        st.booleans() | NUMBERS | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def numbers(kind, bounds):
    """Whole or real numbers between bounds."""
    low = bounds.at_least if bounds.above is None else bounds.above
    high = bounds.at_most if bounds.below is None else bounds.below
    if kind is int:
        return st.integers(int(low), 2**63 - 1)
    return st.floats(
        low,
        high,
        exclude_min=bounds.above is not None,
        exclude_max=bounds.below is not None,
        allow_nan=False,
        allow_infinity=False,
    )


def values(annotation, bounds):
    """Anything that a key can hold."""
    if kinds_of(annotation):
        return st.one_of([sections(one) for one in kinds_of(annotation).values()])
    if is_section(annotation):
        return sections(annotation)
    if item := item_section(annotation):
        return st.lists(sections(item), min_size=2, max_size=3).map(tuple)
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if get_origin(annotation) is dict:
        return OPTIONS
    if get_origin(annotation) is tuple:
        first, last = get_args(annotation)
        one = values(first, bounds)
        return st.lists(one, max_size=3).map(tuple) if last is Ellipsis else st.tuples(one, one)
    return (
        {bool: st.booleans(), str: TEXT}[annotation] if annotation in (bool, str) else numbers(annotation, bounds)
    )


def sections(section):
    """Any section, its keys drawn one by one."""
    return st.builds(section, **{key.name: values(key.type, key.bounds) for key in keys_of(section).values()})


def coherent(recipe: Recipe) -> Recipe:
    """The same recipe with what the rules between keys forbid put right."""
    prompt, length, off_policy, batch = recipe.prompt, recipe.length, recipe.off_policy, recipe.batch
    if isinstance(length, Interruption):
        length = replace(length, think_tokens=ordered(length.think_tokens), phrase=length.phrase + "{close}")
        prompt = replace(prompt, think_close=prompt.think_close or "]")
    elif isinstance(length, Penalty):
        length = replace(length, margin_tokens=min(length.margin_tokens, length.max_tokens))
    ahead = min(off_policy.ahead, off_policy.k) if off_policy.kind == "pipeline" else 0
    off_policy = replace(off_policy, k=max(off_policy.k, 1), ahead=ahead)
    batch = replace(batch, prompts=max(batch.prompts, 3))
    return replace(
        recipe, task=posed(recipe.task), length=length, prompt=prompt, off_policy=off_policy, batch=batch
    )


def posed(task):
    match task:
        case Chain():
            return replace(task, steps=ordered(task.steps))
        case Maths() | Code():
            return replace(task, path=task.path or "x")
        case Gym():
            return replace(task, dataset=task.dataset or "x")
        case Python():
            return replace(task, path=f"{task.path}x:Y")
        case Mixture():
            parts = [
                replace(part, name=f"{n}{part.name}", task=posed(part.task)) for n, part in enumerate(task.parts)
            ]
            return replace(task, parts=tuple(parts))


def ordered(pair):
    return (min(pair), max(pair))


@given(sections(Recipe).map(coherent))
def test_what_is_written_is_read_back(recipe):
    check(recipe)
    assert from_mapping(tomllib.loads(to_toml(recipe))) == recipe


@pytest.mark.parametrize("name", names())
def test_shipped_recipes_survive_the_round_trip(name, tmp_path):
    file = tmp_path / "recipe.toml"
    file.write_text(to_toml(load(name)), encoding="utf-8")
    assert load(file) == load(name)


def test_small_numbers_are_written_as_people_write_them():
    text = to_toml(Recipe())
    assert "\neps = 1e-15  # " in text and "\nrate = 5e-07  # " in text and "\nbetas = [0.9, 0.95]  # " in text
    assert tomllib.loads(text)["optimizer"]["eps"] == 1e-15


@pytest.mark.parametrize("number", [5e-324, 1e-15, 0.1, 1 / 3, 1e16, 1.7976931348623157e308, 1])
def test_every_number_comes_back_exactly(number):
    recipe = Recipe(optimizer=Optimizer(rate=number))
    assert from_mapping(tomllib.loads(to_toml(recipe))).optimizer.rate == number


def test_a_written_mixture():
    text = to_toml(Recipe(task=Mixture(parts=(Part(name="a"), Part(name="b", task=Gym(options={"x y": [1, {}]}))))))
    assert text.count("[[task.parts]]") == 2 and text.count("[task.parts.task]") == 2
    assert '\noptions = {"x y" = [1, {}]}  # ' in text
    assert "\nparts = []  # " in to_toml(Recipe(task=Mixture()))


def test_each_key_carries_its_sentence():
    assert to_toml(Recipe()).startswith("steps = 1000  # Optimizer steps.\n")
    pairs = [line for line in to_toml(Recipe()).splitlines() if " = " in line]
    assert len(pairs) == len(list(leaves_of(Recipe()))) and all(
        "  # " in line and len(line.split("  # ")[1]) > 5 for line in pairs
    )


def test_what_toml_cannot_hold_is_refused():
    with pytest.raises(InputError, match="a recipe holds None; expected"):
        to_toml(Recipe(task=Gym(options={"a": None})))
