"""Rules between keys: the allowed edge, and just over it."""

from dataclasses import replace

import pytest

from scalerl.errors import InputError
from scalerl.recipe.checks import check, problems, require_model
from scalerl.recipe.lengths import Interruption, Limit, Penalty
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Batch, Model, OffPolicy, PromptFormat
from scalerl.recipe.tasks import Chain, Code, Gym, Maths, Mixture, Part, Python


def two(**second) -> Mixture:
    return Mixture(parts=(Part(name="a"), Part(**({"name": "b"} | second))))


ALLOWED = [
    Recipe(),
    Recipe(off_policy=OffPolicy(kind="phased", k=1)),
    Recipe(off_policy=OffPolicy(kind="pipeline", k=0)),
    Recipe(off_policy=OffPolicy(k=8, ahead=8)),
    Recipe(length=Interruption(think_tokens=(5, 5))),
    Recipe(length=Interruption(phrase="{close}\n\n")),
    Recipe(length=Interruption(phrase="Stop. </think>")),
    Recipe(length=Interruption(phrase="Stop. </think>\n\n")),
    Recipe(length=Interruption(phrase="Stop <end>"), prompt=PromptFormat(think_close="<end>")),
    Recipe(length=Penalty(max_tokens=5, margin_tokens=5)),
    Recipe(length=Limit(), prompt=PromptFormat(think_close="")),
    Recipe(length=Penalty(), prompt=PromptFormat(think_close="")),
    Recipe(task=Chain(steps=(3, 3))),
    Recipe(task=Maths(path="x")),
    Recipe(task=Code(path="x")),
    Recipe(task=Gym(dataset="x")),
    Recipe(task=Python(path="a:b.py:C")),
    Recipe(task=two(), batch=Batch(prompts=2)),
]

REFUSED = [
    (Recipe(off_policy=OffPolicy(kind="phased", k=0)), "off_policy.k is 0; expected at least 1"),
    (Recipe(off_policy=OffPolicy(kind="phased", ahead=1)), "off_policy.ahead is 1; expected 0 with"),
    (
        Recipe(off_policy=OffPolicy(k=8, ahead=9)),
        "off_policy.ahead is 9; expected at most off_policy.k, which is 8",
    ),
    (
        Recipe(length=Interruption(think_tokens=(6, 5))),
        "length.think_tokens is [6, 5]; expected the lower number first",
    ),
    (Recipe(length=Interruption(phrase="Stop.")), 'length.phrase is "Stop."; expected {close} in it'),
    (Recipe(length=Interruption(phrase="")), 'length.phrase is ""; expected {close} in it'),
    (Recipe(length=Interruption(phrase="</think> Stop")), "length.phrase is"),
    (Recipe(prompt=PromptFormat(think_close="")), "prompt.think_close is empty"),
    (Recipe(length=Penalty(max_tokens=5, margin_tokens=6)), "length.margin_tokens is 6; expected at most"),
    (Recipe(task=Chain(steps=(4, 3))), "task.steps is [4, 3]; expected the lower number first"),
    (Recipe(task=Maths()), "task.path is empty"),
    (Recipe(task=Code()), "task.path is empty"),
    (Recipe(task=two(task=Code())), "task.parts[1].task.path is empty"),
    (Recipe(task=Gym()), "task.dataset is empty"),
    (Recipe(task=Python()), 'task.path is ""; expected a file, a colon and the name of a class'),
    (Recipe(task=Python(path="a.py")), 'task.path is "a.py"'),
    (Recipe(task=Python(path=":A")), 'task.path is ":A"'),
    (Recipe(task=Python(path="a.py:")), 'task.path is "a.py:"'),
    (Recipe(task=Python(path="a.py:1A")), 'task.path is "a.py:1A"'),
    (Recipe(task=Mixture()), "task.parts has 0; expected at least 2"),
    (Recipe(task=Mixture(parts=(Part(name="a"),))), "task.parts has 1; expected at least 2"),
    (Recipe(task=two(name="a")), 'task.parts[1].name is "a", as another part is'),
    (Recipe(task=two(name="")), "task.parts[1].name is empty"),
    (Recipe(task=two(name=" ")), "task.parts[1].name is empty"),
    (Recipe(task=two(), batch=Batch(prompts=1)), "batch.prompts is 1; expected at least 2"),
    (Recipe(task=two(task=Chain(steps=(4, 3)))), "task.parts[1].task.steps is [4, 3]"),
    (Recipe(task=two(task=Maths())), "task.parts[1].task.path is empty"),
    (Recipe(task=two(task=Gym())), "task.parts[1].task.dataset is empty"),
    (Recipe(task=two(task=Python(path="x"))), 'task.parts[1].task.path is "x"'),
]


@pytest.mark.parametrize("recipe", ALLOWED)
def test_allowed(recipe):
    check(recipe)


@pytest.mark.parametrize(("recipe", "message"), REFUSED)
def test_refused(recipe, message):
    assert [problem[: len(message)] for problem in problems(recipe)] == [message]
    with pytest.raises(InputError) as caught:
        check(recipe, file="r.toml")
    assert str(caught.value).startswith(f"r.toml: {message}") and "\n" not in str(caught.value)


def test_loading_checks(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[off_policy]\nkind = "phased"\nk = 0')
    with pytest.raises(InputError, match=r"a\.toml: off_policy\.k is 0"):
        load(file)
    assert load(file, ["off_policy.k=1"]).off_policy.k == 1
    with pytest.raises(InputError, match=r"a\.toml with --set: off_policy\.ahead is 2"):
        load(file, ["off_policy.k=1", "off_policy.ahead=2"])


def test_changing_to_phased_keeps_k_but_not_batches_ahead():
    assert load("scalerl", ["off_policy.kind=phased"]).off_policy == OffPolicy(kind="phased", k=8)


def test_a_model_is_needed_to_train_only():
    recipe = load("scalerl")
    assert recipe.model.path == ""
    with pytest.raises(InputError, match=r"^model\.path is empty; expected .*--set model\.path=PATH"):
        require_model(recipe)
    require_model(replace(recipe, model=Model(path="demo")))
