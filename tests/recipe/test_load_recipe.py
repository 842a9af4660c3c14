"""Recipes from files: layers, kinds, paths, and files that are no recipes."""

import pytest
from recipe_texts import refusal, write

from scalerl.recipe.lengths import Interruption, Limit
from scalerl.recipe.losses import Cispo, Dapo, Gspo, Reinforce
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.tasks import Chain, Gym


def test_an_empty_file_is_the_scalerl_recipe(folder):
    assert load(write(folder / "a.toml", "")) == Recipe()


def test_what_a_file_states_counts_and_the_rest_is_default(folder):
    text = 'steps = 7\nreward = "format"\n[optimizer]\nrate = 1\nbetas = [0, 0.5]\n[prompt]\nstop = ["a", "b"]\n'
    recipe = load(write(folder / "a.toml", text))
    assert (recipe.steps, recipe.reward) == (7, "format")
    assert recipe.optimizer.rate == 1.0 and type(recipe.optimizer.rate) is float
    assert recipe.optimizer.betas == (0.0, 0.5) and recipe.optimizer.eps == 1e-15
    assert recipe.prompt.stop == ("a", "b")


def test_steps_of_the_run_and_of_a_chain_are_two_keys(folder):
    recipe = load(write(folder / "a.toml", "steps = 7\n[task]\nsteps = [3, 4]\n"))
    assert recipe.steps == 7 and recipe.task == Chain(steps=(3, 4))


def test_a_path_object_a_string_and_a_name(folder):
    file = write(folder / "a.toml", "seed = 3")
    assert load(file) == load(str(file)) == load("a.toml") == Recipe(seed=3)
    assert load("scalerl") == Recipe()


def test_a_shipped_name_wins_over_a_file_called_the_same(folder):
    write(folder / "demo", "seed = 3")
    assert load("demo").model.path == "demo"
    assert load("./demo") == Recipe(seed=3)


# extends


def test_extends_a_chain_of_files_relative_to_each(folder):
    write(folder / "top.toml", 'extends = "sub/middle.toml"\nseed = 1\n')
    write(folder / "sub" / "middle.toml", 'extends = "deep/bottom.toml"\nseed = 2\nsteps = 2\n')
    write(
        folder / "sub" / "deep" / "bottom.toml", 'extends = "baseline"\nseed = 3\nsteps = 3\n[batch]\nprompts = 3\n'
    )
    recipe = load("top.toml")
    assert (recipe.seed, recipe.steps, recipe.batch.prompts, recipe.batch.samples) == (1, 2, 3, 16)
    assert recipe.loss == Dapo(clip_low=0.2, clip_high=0.26)


def test_a_file_may_extend_the_shipped_recipe_of_its_own_name(folder):
    file = write(folder / "scalerl.toml", 'extends = "scalerl"\nseed = 1')
    assert load(file) == Recipe(seed=1)


def test_circles_are_refused(folder):
    write(folder / "a.toml", 'seed = 1\nextends = "b.toml"')
    write(folder / "b.toml", 'extends = "./a.toml"')
    assert refusal("a.toml") == "b.toml, line 1: extends goes in a circle: a.toml -> b.toml -> a.toml"
    write(folder / "c.toml", 'extends = "c.toml"')
    assert "circle: c.toml -> c.toml" in refusal("c.toml")


@pytest.mark.parametrize("stated", ["3", '""', '["a.toml", "b.toml"]', "true"])
def test_extends_is_one_name_or_path(folder, stated):
    write(folder / "a.toml", f"extends = {stated}")
    assert "a.toml, line 1: extends is" in refusal("a.toml") and "shipped recipe" in refusal("a.toml")


def test_extends_of_a_missing_file_lists_the_shipped_recipes(folder):
    write(folder / "a.toml", '\nextends = "scalrl"')
    message = refusal("a.toml")
    assert message.startswith("a.toml, line 2: extends: scalrl is not there")
    assert "scalerl, baseline, grpo, dapo, magistral, minimax, demo" in message


def test_an_error_names_the_file_that_states_the_key(folder):
    write(folder / "parent.toml", "[batch]\nprompts = 0")
    write(folder / "child.toml", 'extends = "parent.toml"\n[batch]\nprompts = 4')
    assert refusal("child.toml").startswith("parent.toml, line 2: batch.prompts is 0")


# kinds


def test_another_kind_forgets_the_keys_of_the_parent(folder):
    write(folder / "parent.toml", '[loss]\nkind = "dapo"\nclip_low = 0.1\nclip_high = 0.3\n')
    write(folder / "child.toml", 'extends = "parent.toml"\n[loss]\nkind = "gspo"\nclip_high = 0.5')
    write(folder / "grandchild.toml", 'extends = "child.toml"\n[loss]\nkind = "dapo"')
    assert load("parent.toml").loss == Dapo(clip_low=0.1, clip_high=0.3)
    assert load("child.toml").loss == Gspo(clip_low=3e-3, clip_high=0.5)
    assert load("grandchild.toml").loss == Dapo(clip_low=0.2, clip_high=0.26)


def test_the_same_kind_keeps_the_keys_of_the_parent(folder):
    write(folder / "parent.toml", '[loss]\nkind = "dapo"\nclip_low = 0.1\n')
    write(folder / "child.toml", 'extends = "parent.toml"\n[loss]\nkind = "dapo"\nclip_high = 0.5')
    assert load("child.toml").loss == Dapo(clip_low=0.1, clip_high=0.5)


def test_without_a_kind_the_keys_are_those_of_the_kind_before(folder):
    assert load(write(folder / "a.toml", "[loss]\ncap = 8")).loss == Cispo(cap=8.0)
    write(folder / "b.toml", 'extends = "baseline"\n[loss]\nclip_low = 0.1')
    assert load("b.toml").loss == Dapo(clip_low=0.1, clip_high=0.26)


def test_length_and_task_have_kinds_too(folder):
    write(
        folder / "parent.toml", '[length]\nanswer_tokens = 9\n[task]\nkind = "gym"\ndataset = "x"\nnum_prompts = 9'
    )
    write(folder / "child.toml", 'extends = "parent.toml"\n[length]\nkind = "limit"\n[task]\nkind = "chain"')
    assert load("parent.toml").length == Interruption(answer_tokens=9)
    assert load("parent.toml").task == Gym(dataset="x", num_prompts=9)
    assert load("child.toml").length == Limit() and load("child.toml").task == Chain()


def test_keys_of_another_kind_are_refused_with_the_keys_of_each(folder):
    write(folder / "a.toml", '[loss]\nkind = "reinforce"\nclip_low = 0.1')
    assert refusal("a.toml") == (
        'a.toml, line 3: loss.clip_low belongs to kind "dapo" (clip_low, clip_high) and "gspo" (clip_low, clip_high'
        '); loss.kind = "reinforce" has no keys'
    )
    write(folder / "b.toml", "[length]\nmargin_tokens = 3")
    assert refusal("b.toml") == (
        'b.toml, line 2: length.margin_tokens belongs to kind "penalty" (max_tokens, margin_tokens); '
        'length.kind = "interruption" has think_tokens, phrase, answer_tokens'
    )


def test_a_kind_needs_no_keys(folder):
    assert load(write(folder / "a.toml", '[loss]\nkind = "reinforce"')).loss == Reinforce()
