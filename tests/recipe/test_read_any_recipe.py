"""Whatever is stated, a recipe or one line of refusal comes out, and never another error."""

import contextlib
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.recipe.checks import check
from scalerl.recipe.keys import known_keys
from scalerl.recipe.overrides import layer_of
from scalerl.recipe.reading import from_mapping, load
from scalerl.recipe.recipe import Recipe

NAMES = sorted({name for key in known_keys() for name in key.split(".")})
KINDS = [
    *("cispo", "dapo", "reinforce", "limit", "penalty", "phased", "none"),
    *("maths", "code", "gym", "python", "mixture"),
]
ONE = (
    st.integers(-2, 20)
    | st.floats()
    | st.booleans()
    | st.sampled_from(KINDS)
    | st.text(max_size=3)
    | st.sampled_from([date(2025, 10, 15), [], {}, 10**30])
)
ANY = st.recursive(
    ONE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(NAMES), ANY, max_size=3) | st.dictionaries(st.text(max_size=4), ANY))
def test_any_mapping(mapping):
    try:
        recipe = from_mapping(mapping)
    except InputError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert isinstance(recipe, Recipe)
        check(recipe)


VALUES = st.sampled_from(["1", "0.5", "[1, 2]", "true", "{a = 1}", "[{", "", '"x"', "nan", *KINDS]) | st.text(
    max_size=5
)
KEYS = st.sampled_from(sorted(known_keys())) | st.text(max_size=5)


@given(st.lists(st.builds("{}={}".format, KEYS, VALUES) | st.text(max_size=6), max_size=4))
def test_any_overrides(overrides):
    with contextlib.suppress(InputError):
        assert isinstance(load("scalerl", overrides), Recipe)


@given(
    st.permutations(["loss.kind=gspo", "loss.clip_low=0.1", "task.kind=gym", "task.dataset=a", "task.options.b=1"])
)
def test_the_order_of_overrides_does_not_matter(overrides):
    assert layer_of(overrides) == layer_of(sorted(overrides))
    assert load("dapo", overrides) == load("dapo", sorted(overrides))
