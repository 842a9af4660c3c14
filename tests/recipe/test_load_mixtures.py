"""Mixtures and free tables of options in files."""

import pytest
from recipe_texts import refusal, write

from scalerl.recipe.reading import load
from scalerl.recipe.tasks import Chain, Gym, Maths, Mixture, Part

# mixtures and options

MIXTURE = """
[task]
kind = "mixture"

[[task.parts]]
name = "chains"
weight = 2
[task.parts.task]
steps = [1, 2]

[[task.parts]]
name = "sums"
task = { kind = "gym", dataset = "chain_sum", options = { min_terms = 2, deep = { a = [1, "b", 2.5, true] } } }
"""


def test_a_mixture(folder):
    task = load(write(folder / "a.toml", MIXTURE)).task
    options = {"min_terms": 2, "deep": {"a": [1, "b", 2.5, True]}}
    assert task == Mixture(
        parts=(
            Part(name="chains", weight=2.0, task=Chain(steps=(1, 2))),
            Part(name="sums", task=Gym(dataset="chain_sum", options=options)),
        )
    )


def test_parts_are_replaced_whole(folder):
    write(folder / "parent.toml", MIXTURE)
    text = 'extends = "parent.toml"\n[[task.parts]]\nname = "x"\ntask.kind = "maths"\ntask.path = "/x"\n'
    write(folder / "child.toml", text + '[[task.parts]]\nname = "y"')
    assert load("child.toml").task == Mixture(
        parts=(Part(name="x", task=Maths(path="/x")), Part(name="y", task=Chain()))
    )


def test_errors_inside_a_mixture_name_part_and_line(folder):
    write(folder / "a.toml", MIXTURE + "weight = 0\n")
    assert refusal("a.toml").startswith("a.toml, line 14: task.parts[1].weight is 0; expected a number, above 0")
    write(folder / "b.toml", MIXTURE.replace("steps = [1, 2]", "clip = 3"))
    assert refusal("b.toml").startswith(
        "b.toml, line 9: unknown key task.parts[0].task.clip; did you mean loss.clip?"
    )
    write(folder / "c.toml", MIXTURE.replace("steps = [1, 2]", 'dataset = "x"'))
    assert 'line 9: task.parts[0].task.dataset belongs to kind "gym"' in refusal("c.toml")
    assert 'task.parts[0].task.kind = "chain" has num_prompts, steps, coin_flips, seed' in refusal("c.toml")


def test_no_mixture_inside_a_mixture(folder):
    write(folder / "a.toml", MIXTURE.replace('kind = "gym"', 'kind = "mixture"'))
    assert 'task.parts[1].task.kind is "mixture"; expected one of "chain", "maths", "code", "gym", "python"' in (
        refusal("a.toml")
    )


def test_parts_must_be_a_list_of_tables(folder):
    write(folder / "a.toml", '[task]\nkind = "mixture"\nparts = 3')
    assert "task.parts is 3; expected a list of tables [[task.parts]]" in refusal("a.toml")
    write(folder / "b.toml", '[task]\nkind = "mixture"\nparts = [1, 2]')
    assert "task.parts[0] is 1; expected a table" in refusal("b.toml")


def test_options_are_replaced_whole_by_a_file(folder):
    write(folder / "parent.toml", '[task]\nkind = "gym"\ndataset = "x"\noptions = { a = 1, b = 2 }')
    write(folder / "child.toml", 'extends = "parent.toml"\n[task.options]\na = 3')
    assert load("child.toml").task == Gym(dataset="x", options={"a": 3})


@pytest.mark.parametrize("stated", ["2024-01-01", "nan", "[1, inf]", "{ b = 07:32:00 }", "99999999999999999999"])
def test_options_hold_neither_dates_nor_numbers_that_are_none(folder, stated):
    write(folder / "a.toml", f'[task]\nkind = "gym"\ndataset = "x"\n[task.options]\na = {stated}')
    assert "a.toml, line 5: task.options.a" in refusal("a.toml") and "a finite number" in refusal("a.toml")


def test_options_must_be_a_table(folder):
    write(folder / "a.toml", '[task]\nkind = "gym"\ndataset = "x"\noptions = [1]')
    assert refusal("a.toml") == "a.toml, line 4: task.options is [1]; expected a table [task.options]"
