"""`--set a.b=c`: types by key, kinds in any order, and what cannot be set."""

from itertools import permutations

import pytest

from scalerl.errors import InputError
from scalerl.recipe.losses import Cispo, Dapo, Gspo
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.tasks import Chain, Gym, Maths, Mixture, Part, Python


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def overridden(*overrides: str) -> Recipe:
    return load("scalerl", overrides)


def refusal(*overrides: str) -> str:
    with pytest.raises(InputError) as caught:
        overridden(*overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_values_are_toml():
    recipe = overridden(
        "steps=1_000_0", "optimizer.rate=3e-4", "model.fp32_head=false", "optimizer.betas=[0.5, 0.6]"
    )
    assert (recipe.steps, recipe.optimizer.rate, recipe.model.fp32_head) == (10_000, 3e-4, False)
    assert recipe.optimizer.betas == (0.5, 0.6)
    assert overridden("optimizer.rate=1").optimizer.rate == 1.0
    assert overridden('prompt.stop=["a", "b"]').prompt.stop == ("a", "b")


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("plain", "plain"),
        ('"quoted"', "quoted"),
        ("'quoted'", "quoted"),
        (r'"a\nb"', "a\nb"),
        ("12", "12"),
        ("true", "true"),
        ("2024-01-01", "2024-01-01"),
        ("[a]", "[a]"),
        ("", ""),
        ("a = b, c", "a = b, c"),
        ('"a"\nsteps = 3', '"a"\nsteps = 3'),
        ('"half', '"half'),
    ],
)
def test_strings_need_no_quotes_where_a_string_is_wanted(typed, value):
    assert overridden(f"prompt.system={typed}").prompt.system == value


def test_choices_need_no_quotes():
    assert overridden("reward=random").reward == "random"
    assert overridden('reward="random"').reward == "random"
    assert overridden("loss.kind=dapo").loss == Dapo()
    assert overridden("off_policy.kind=phased").off_policy.kind == "phased"


def test_blanks_around_key_and_value_do_not_count():
    assert overridden(" loss.kind = dapo ").loss == Dapo()


def test_another_kind_starts_anew_whatever_the_order():
    stated = ("loss.kind=gspo", "loss.clip_low=0.1", "loss.clip_high=0.2", "steps=3")
    found = {load("dapo", order).loss for order in permutations(stated)}
    assert found == {Gspo(clip_low=0.1, clip_high=0.2)}
    assert load("dapo", ["loss.clip_low=0.1"]).loss == Dapo(clip_low=0.1, clip_high=0.26)
    assert load("dapo", ["loss.kind=cispo"]).loss == Cispo()


def test_the_last_of_the_same_key_counts():
    assert overridden("steps=1", "steps=2").steps == 2


def test_overrides_go_over_the_file(folder):
    (folder / "a.toml").write_text('extends = "grpo"\nsteps = 5\nseed = 6\n[loss]\nclip = 0.1')
    recipe = load("a.toml", ["steps=7", "loss.clip=0.3"])
    assert (recipe.steps, recipe.seed, recipe.loss.clip, recipe.off_policy.k) == (7, 6, 0.3, 8)


def test_paths_are_relative_to_the_current_folder(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.toml").write_text('[task]\nkind = "maths"\npath = "t"')
    recipe = load("sub/a.toml", ["model.path=m", "task.held_out_path=h"])
    assert recipe.model.path == f"{folder}/m"
    assert recipe.task == Maths(path=f"{folder}/sub/t", held_out_path=f"{folder}/h")
    assert overridden("model.path=/x/y").model.path == "/x/y"
    assert overridden("model.path=demo").model.path == "demo"
    assert overridden("task.kind=python", "task.path=a.py:B").task == Python(path=f"{folder}/a.py:B")


def test_options_one_by_one_and_whole(folder):
    (folder / "a.toml").write_text('[task]\nkind = "gym"\ndataset = "x"\noptions = { a = 1, b = 2 }')
    assert load("a.toml", ["task.options.a=3", 'task.options.c="d"']).task.options == {"a": 3, "b": 2, "c": "d"}
    assert load("a.toml", ["task.options={a = 3}"]).task.options == {"a": 3}
    assert load("a.toml", ["task.options.a={d = [1]}"]).task.options == {"a": {"d": [1]}, "b": 2}
    assert load("a.toml").task == Gym(dataset="x", options={"a": 1, "b": 2})


def test_an_option_has_no_type_so_that_strings_need_quotes():
    stated = ("task.kind=gym", "task.dataset=x")
    assert refusal(*stated, "task.options.a=True") == (
        "--set: task.options.a is True, which is no TOML value; a string needs quotes"
    )
    assert "task.options.a.b can only" not in refusal(*stated, "task.options.a.b=1")
    assert refusal(*stated, "task.options.a.b=1") == (
        "--set: task.options.a can only be set whole, as in --set 'task.options.a={a = 1}'"
    )
    assert refusal(*stated, "task.options=3") == '--set: task.options is "3"; expected a table [task.options]'


def test_a_mixture_is_set_whole():
    recipe = overridden(
        "task.kind=mixture", 'task.parts=[{name = "a"}, {name = "b", weight = 2, task.steps = [1, 1]}]'
    )
    assert recipe.task == Mixture(parts=(Part(name="a"), Part(name="b", weight=2.0, task=Chain(steps=(1, 1)))))
    assert "expected a list of tables [[task.parts]], stated whole" in refusal(
        "task.kind=mixture", "task.parts.0.weight=2"
    )
    assert "expected a list of tables [[task.parts]], stated whole" in refusal("task.kind=mixture", "task.parts=[{")


@pytest.mark.parametrize("override", ["loss=dapo", 'loss={kind = "dapo"}', "batch=3", "task="])
def test_a_whole_section_is_refused(override):
    section = override.partition("=")[0]
    assert refusal(override) == (
        f"--set: {section} is a section; set its keys one by one, as in --set {section}.KEY=VALUE"
    )


def test_keys_below_a_single_value_are_refused():
    assert refusal("steps.x=1") == "--set: unknown key steps.x; steps is a single value: a whole number"
    assert refusal("loss.cap.x.y=1") == "--set: unknown key loss.cap.x; loss.cap is a single value: a number"


@pytest.mark.parametrize("override", ["steps", "", "=3", "a..b=3", ".steps=3", "steps.=3"])
def test_what_is_no_override(override):
    assert (
        refusal(override) == f"--set: {override!r} is no override; expected KEY=VALUE, as in --set loss.kind=dapo"
    )


@pytest.mark.parametrize("overrides", [("task.options={a=1}", "task.options.b=2"), ("loss.kind=dapo", "loss=dapo")])
def test_a_table_and_its_keys_at_once_are_refused(overrides):
    assert "another --set states too" in refusal(*overrides)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("batch.promts=3", "unknown key batch.promts; did you mean batch.prompts?"),
        ("steps=abc", 'steps is "abc"; expected a whole number, at least 0'),
        ("steps=1e3", "steps is 1000.0; expected a whole number, at least 0"),
        ("steps=", 'steps is ""; expected a whole number, at least 0'),
        ("steps=1\nseed = 2", 'steps is "1\\nseed = 2"; expected a whole number, at least 0'),
        ("model.fp32_head=True", 'model.fp32_head is "True"; expected true or false'),
        ("loss.cap=nan", "loss.cap is nan; expected a number, at least 1, finite and within 64 bits"),
        ("reward=coin", 'reward is "coin"; expected one of "task", "random", "format"'),
        ("loss.kind=3", 'loss.kind is "3"; expected one of "cispo", "dapo", "grpo", "gspo", "reinforce"'),
        ("loss.clip=0.1", 'loss.clip belongs to kind "grpo" (clip); loss.kind = "cispo" has cap'),
        ("prompt.stop=[a]", 'prompt.stop is "[a]"; expected a list of strings, such as ["a", "b"]'),
        ("extends=grpo", "extends belongs at the top of a TOML file; here name the recipe itself"),
    ],
)
def test_refusals_say_that_they_are_about_an_override(override, message):
    assert refusal(override) == f"--set: {message}"


def test_top_p_is_refused_here_too():
    assert "leak into the ratio" in refusal("sampling.top_p=0.9")
