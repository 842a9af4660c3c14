"""Strictness: keys that are not there, values of the wrong type, out of bounds or not on offer."""

from typing import Literal, get_args, get_origin

import pytest

from scalerl.errors import InputError
from scalerl.recipe.keys import is_section, keys_of, kinds_of
from scalerl.recipe.reading import from_mapping
from scalerl.recipe.recipe import Recipe


def mapping(key: str, value: object) -> dict:
    for name in reversed(key.split(".")):
        value = {name: value}
    return value


def refusal(key: str, value: object) -> str:
    with pytest.raises(InputError) as caught:
        from_mapping(mapping(key, value))
    return str(caught.value)


# unknown keys


@pytest.mark.parametrize(
    ("key", "closest"),
    [
        ("batch.promts", "batch.prompts"),
        ("sed", "seed"),
        ("optimiser.rate", "optimizer"),
        ("optimizer.lr_rate", "optimizer.rate"),
        ("rate", "optimizer.rate"),
        ("cap", "loss.cap"),
        ("offpolicy.k", "off_policy"),
        ("objective.scale", "objective.advantage_scale"),
        ("model.temperature", "sampling.temperature or evaluation.temperature"),
        ("length.think_token", "length.think_tokens"),
        ("sampling.temprature", "sampling.temperature"),
        ("optimizer.learning_rate", "optimizer.rate"),
        ("batch.warmup_step", "optimizer.warmup_steps"),
    ],
)
def test_an_unknown_key_is_named_with_the_closest_known_one(key, closest):
    stated = key if closest.count(".") else key.split(".")[0]
    assert refusal(key, 1).startswith(f"unknown key {stated}; did you mean {closest}?")


def test_an_unknown_key_near_nothing_lists_what_there_is():
    assert refusal("optimizer.lr", 1).startswith(
        "unknown key optimizer.lr; expected one of rate, warmup_steps, betas"
    )
    assert refusal("batch.zzz", 1) == "unknown key batch.zzz; expected one of prompts, samples"
    assert refusal("zzz", 1).startswith("unknown key zzz; expected one of steps, seed, reward, model, task, ")
    assert refusal("task.options", {"a": 1}).endswith(
        'task.kind = "chain" has num_prompts, steps, coin_flips, seed'
    )
    assert refusal('batch.a b"', 1).startswith('unknown key batch."a b\\"";')


def test_an_unknown_key_of_a_section_with_kinds_lists_those_of_its_kind():
    with pytest.raises(InputError) as caught:
        from_mapping({"loss": {"kind": "dapo", "clp_low": 1}})
    assert str(caught.value) == (
        'unknown key loss.clp_low; did you mean loss.clip_low?; loss.kind = "dapo" has clip_low, clip_high'
    )


@pytest.mark.parametrize("key", ["sampling.top_p", "sampling.top_k", "sampling.min_p"])
def test_cut_distributions_are_refused_with_the_reason(key):
    assert refusal(key, 1).startswith(f"{key} is refused: ") and "leak into the ratio" in refusal(key, 1)


# types


@pytest.mark.parametrize("value", [True, 1.0, "1", [1], {"a": 1}])
def test_a_whole_number_is_nothing_else(value):
    assert "seed is " in refusal("seed", value) and refusal("seed", value).endswith(
        "expected a whole number, at least 0"
    )


@pytest.mark.parametrize("value", [True, "1", [1.0]])
def test_a_number_is_whole_or_not_and_nothing_else(value):
    assert refusal("optimizer.rate", value).endswith("expected a number, above 0")


@pytest.mark.parametrize("value", [1, 0, "true", [True]])
def test_true_or_false_is_nothing_else(value):
    assert refusal("model.fp32_head", value).endswith("expected true or false")


@pytest.mark.parametrize("value", [1, True, ["a"], 1.5])
def test_a_string_is_nothing_else(value):
    assert refusal("prompt.system", value).endswith("expected a string")


@pytest.mark.parametrize("value", [5, "5", [1], [1, 2, 3], []])
def test_a_pair_has_two(value):
    assert refusal("length.think_tokens", value).endswith("expected a list of 2 whole numbers, such as [1, 2]")
    assert "optimizer.betas is" in refusal("optimizer.betas", value)


def test_items_of_a_list_are_checked_one_by_one():
    assert refusal("length.think_tokens", [1, 2.5]) == (
        "length.think_tokens[1] is 2.5; expected a whole number, at least 1"
    )
    assert refusal("length.think_tokens", [0, 2]).startswith("length.think_tokens[0] is 0;")
    assert refusal("optimizer.betas", [0.5, 1]) == "optimizer.betas[1] is 1; expected a number, at least 0, below 1"
    assert refusal("prompt.stop", ["a", 1]) == "prompt.stop[1] is 1; expected a string"
    assert refusal("prompt.stop", "a") == 'prompt.stop is "a"; expected a list of strings, such as ["a", "b"]'


@pytest.mark.parametrize("value", ["dapo", 1, ["a"], True])
def test_a_section_is_a_table(value):
    for section in ("loss", "batch"):
        assert refusal(section, value).endswith(f"expected a table [{section}]")


def test_a_message_stays_on_one_line_and_short():
    message = refusal("seed", "a\nb" * 1_000)
    assert "\n" not in message and len(message) < 120


# numbers


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("key", ["optimizer.rate", "optimizer.eps", "sampling.temperature", "loss.cap"])
def test_numbers_are_finite(key, value):
    assert refusal(key, value).startswith(f"{key} is {value}; ") and "finite" in refusal(key, value)


def test_whole_numbers_fit_64_bits():
    assert from_mapping({"seed": 2**63 - 1}).seed == 2**63 - 1
    assert "within 64 bits" in refusal("seed", 2**63)
    assert "within 64 bits" in refusal("optimizer.rate", 10**400)


# key, a value just inside, one just outside and what is then expected: each kind of bound, and each that matters
BOUNDS = [
    ("steps", 0, -1, "at least 0"),
    ("batch.prompts", 1, 0, "at least 1"),
    ("batch.samples", 2, 1, "at least 2"),
    ("loss.cap", 1, 0.999, "at least 1"),
    ("sampling.temperature", 1e-9, 0, "above 0"),
    ("evaluation.temperature", 1e-9, 0, "above 0"),
    ("curriculum.threshold", 1, 1.001, "above 0, at most 1"),
    ("curriculum.threshold", 0.001, 0, "above 0, at most 1"),
    ("engine.memory_share", 0.999, 1, "above 0, below 1"),
    ("optimizer.rate", 1e-12, 0, "above 0"),
    ("optimizer.weight_decay", 0, -0.1, "at least 0"),
    ("task.coin_flips", 0, -0.1, "at least 0, at most 1"),
    ("task.coin_flips", 1, 1.1, "at least 0, at most 1"),
    ("off_policy.k", 0, -1, "at least 0"),
    ("checkpoint.keep", 1, 0, "at least 1"),
    ("model.chunk_tokens", 1, 0, "at least 1"),
]


@pytest.mark.parametrize(("key", "inside", "outside", "expected"), BOUNDS)
def test_bounds(key, inside, outside, expected):
    recipe = from_mapping(mapping(key, inside))
    for name in key.split("."):
        recipe = getattr(recipe, name)
    assert recipe == inside
    assert refusal(key, outside).startswith(f"{key} is {outside}; ") and refusal(key, outside).endswith(expected)


KIND_BOUNDS = [
    ({"kind": "dapo", "clip_low": 1}, {"kind": "dapo", "clip_low": 1.1}),
    ({"kind": "dapo", "clip_high": 3}, {"kind": "dapo", "clip_high": 0}),
    ({"kind": "grpo", "clip": 0.99}, {"kind": "grpo", "clip": 1}),
    ({"kind": "gspo", "clip_low": 1}, {"kind": "gspo", "clip_low": 0}),
]


@pytest.mark.parametrize(("inside", "outside"), KIND_BOUNDS)
def test_bounds_of_losses(inside, outside):
    assert from_mapping({"loss": inside}).loss.kind == inside["kind"]
    with pytest.raises(InputError, match=r"^loss\.clip"):
        from_mapping({"loss": outside})


# choices: written by hand, so that one that goes missing, or comes without a test, is seen
CHOICES = {
    "reward": ("task", "random", "format"),
    "model.dtype": ("auto", "float32", "bfloat16"),
    "objective.advantage_scale": ("batch", "prompt", "none"),
    "objective.averaging": ("prompt", "sample", "token"),
    "objective.zero_variance": ("drop", "keep"),
    "objective.truncated": ("drop", "keep", "fail"),
    "curriculum.history": ("mean", "last"),
    "off_policy.kind": ("pipeline", "phased"),
    "engine.graphs": ("auto", "on", "off"),
    "runtime.kind": ("local", "cluster"),
    "runtime.network": ("loopback", "all"),
    "runtime.transfer": ("store", "nccl"),
    "runtime.device": ("auto", "cpu", "cuda"),
    "loss.kind": ("cispo", "dapo", "grpo", "gspo", "reinforce"),
    "length.kind": ("interruption", "penalty", "limit"),
    "task.kind": ("chain", "maths", "code", "gym", "python", "mixture"),
}
NEEDED = {
    "maths": {"path": "/x"},
    "code": {"path": "/x"},
    "gym": {"dataset": "x"},
    "python": {"path": "x.py:X"},
    "mixture": {"parts": [{"name": "a"}, {"name": "b"}]},
}


@pytest.mark.parametrize(("key", "choice"), [(key, choice) for key in CHOICES for choice in CHOICES[key]])
def test_every_choice_can_be_made(key, choice):
    stated = mapping(key, choice)
    stated.get("task", {}).update(NEEDED.get(choice, {}))
    recipe = from_mapping(stated)
    for name in key.split("."):
        recipe = getattr(recipe, name)
    assert recipe == choice


@pytest.mark.parametrize("key", CHOICES)
@pytest.mark.parametrize("value", ["", "CISPO", "other", 1, True, None, ["batch"]])
def test_other_choices_are_refused_with_those_there_are(key, value):
    there_are = ", ".join(f'"{choice}"' for choice in CHOICES[key])
    several = "one of " if len(CHOICES[key]) > 1 else ""
    assert refusal(key, value).endswith(f"; expected {several}{there_are}")


def test_no_choice_is_missing_above():
    found = {}
    for key in keys_of(Recipe).values():
        if get_origin(key.type) is Literal:
            found[key.name] = get_args(key.type)
        elif kinds_of(key.type):
            found[f"{key.name}.kind"] = tuple(kinds_of(key.type))
        elif is_section(key.type):
            inner = keys_of(key.type).values()
            found |= {
                f"{key.name}.{one.name}": get_args(one.type) for one in inner if get_origin(one.type) is Literal
            }
    assert found == CHOICES
