"""What two recipes do not agree on, with both values."""

from dataclasses import replace

from scalerl.recipe.differences import differences
from scalerl.recipe.losses import Dapo
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.tasks import Gym, Mixture, Part


def test_no_differences():
    assert differences(Recipe(), load("scalerl")) == []


def test_values_of_both_sides():
    new = load("scalerl", ["steps=2000", "loss.cap=8", "prompt.system=a b"])
    assert differences(Recipe(), new) == [
        "steps: 1000 -> 2000",
        'prompt.system: "" -> "a b"',
        "loss.cap: 5.0 -> 8.0",
    ]
    assert differences(new, Recipe())[0] == "steps: 2000 -> 1000"


def test_keys_that_only_one_side_has():
    assert differences(Recipe(), replace(Recipe(), loss=Dapo())) == [
        'loss.kind: "cispo" -> "dapo"',
        "loss.cap: 5.0 -> none",
        "loss.clip_low: none -> 0.2",
        "loss.clip_high: none -> 0.26",
    ]


def test_options_and_parts():
    old = Recipe(task=Mixture(parts=(Part(name="a"), Part(name="b", task=Gym(dataset="x", options={"y": 1})))))
    new = Recipe(task=Mixture(parts=(Part(name="a", weight=2.0), Part(name="b", task=Gym(dataset="x")))))
    assert differences(old, new) == [
        "task.parts[0].weight: 1.0 -> 2.0",
        "task.parts[1].task.options: {y = 1} -> {}",
    ]
    assert differences(old, replace(old, task=replace(old.task, parts=old.task.parts[:1]))) == [
        'task.parts[1].name: "b" -> none',
        "task.parts[1].weight: 1.0 -> none",
        'task.parts[1].task.kind: "gym" -> none',
        'task.parts[1].task.dataset: "x" -> none',
        "task.parts[1].task.options: {y = 1} -> none",
        "task.parts[1].task.num_prompts: 1000 -> none",
        "task.parts[1].task.pass_at: 1.0 -> none",
        "task.parts[1].task.seconds: 5.0 -> none",
        "task.parts[1].task.seed: 0 -> none",
    ]


def test_keys_and_sections_can_be_ignored():
    new = load("scalerl", ["steps=2", "task.steps=[3, 4]", "log.wandb=x", "log.rollouts_keep=1"])
    assert differences(Recipe(), new, ignore=["steps", "log"]) == ["task.steps: [2, 8] -> [3, 4]"]


def test_part_of_a_name_ignores_nothing():
    assert differences(Recipe(), load("scalerl", ["log.wandb=x"]), ignore=["l", "log.wand"]) == [
        'log.wandb: "" -> "x"',
    ]
