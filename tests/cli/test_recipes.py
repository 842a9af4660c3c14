"""The recipes there are."""

import tomllib

from scalerl.recipe.knobs import knobs_page
from scalerl.recipe.named import names
from scalerl.recipe.reading import from_mapping, load


def test_every_recipe_is_listed_with_what_it_changes(scalerl):
    out = scalerl("recipes").out
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == list(names())
    grpo = out.partition("\ngrpo")[2].partition("\ndapo")[0]
    assert 'loss.kind="grpo"' in grpo and "loss.clip=0.2" in grpo and "none" not in grpo
    assert max(len(line) for line in out.splitlines()) <= 80


def test_the_same_as_json(scalerl):
    records = {one["name"]: one for one in scalerl("recipes", "--json").records}
    assert records["scalerl"]["differences"] == []
    assert "loss.cap: 5.0 -> none" in records["dapo"]["differences"]
    assert records["demo"]["about"].startswith("A small policy learns")


def test_one_recipe_is_printed_whole(scalerl):
    out = scalerl("recipes", "minimax").out
    assert from_mapping(tomllib.loads(out)) == load("minimax")


def test_the_knobs(scalerl):
    assert scalerl("recipes", "--knobs").out == knobs_page()


def test_refusals(refused):
    assert "expected a TOML file or a shipped recipe" in refused("recipes", "nothing")
    assert "expected no name beside it" in refused("recipes", "demo", "--knobs")
