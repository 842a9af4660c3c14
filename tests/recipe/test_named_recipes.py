"""The shipped recipes against the table of the paper, choice by choice."""

import re
import tomllib
from pathlib import Path

import pytest

from scalerl.recipe.keys import leaves_of
from scalerl.recipe.losses import Cispo, Dapo, Grpo
from scalerl.recipe.named import FOLDER, names, path_of
from scalerl.recipe.reading import load
from scalerl.recipe.recipe import Recipe

# Paper 2 and 4 (baseline, ScaleRL) and the comparison of A.16; where that is silent: prompt scale for grpo, dapo
# and minimax, batch scale and 48 prompts for magistral, k = 8, no-positive-resampling only in ScaleRL.
# name: loss, scale, averaging, zero variance, no-positive-resampling, float32 head, off-policy, prompts
PAPER = {
    "scalerl": (Cispo(cap=5.0), "batch", "prompt", "drop", True, True, "pipeline", 48),
    "baseline": (Dapo(clip_low=0.2, clip_high=0.26), "prompt", "sample", "keep", False, False, "pipeline", 48),
    "grpo": (Grpo(clip=0.2), "prompt", "sample", "keep", False, False, "phased", 48),
    "dapo": (Dapo(clip_low=0.2, clip_high=0.26), "prompt", "prompt", "drop", False, False, "phased", 80),
    "magistral": (Dapo(clip_low=0.2, clip_high=0.26), "batch", "prompt", "drop", False, False, "pipeline", 48),
    "minimax": (Cispo(cap=5.0), "prompt", "prompt", "drop", False, True, "phased", 80),
}
# Paper 3 and A.3: the same for all of them.
SHARED = {
    "batch.samples": 16,
    "off_policy.k": 8,
    "off_policy.ahead": 0,
    "length.kind": "interruption",
    "length.think_tokens": (10_240, 12_288),
    "length.phrase": "Okay, time is up. Let me stop thinking and formulate a final answer now. {close}",
    "length.answer_tokens": 2_048,
    "prompt.think_close": "</think>",
    "prompt.max_tokens": 2_048,
    "reward": "task",
    "sampling.temperature": 1.0,
    "objective.truncated": "drop",
    "curriculum.threshold": 0.9,
    "curriculum.history": "mean",
    "optimizer.rate": 5e-7,
    "optimizer.warmup_steps": 100,
    "optimizer.betas": (0.9, 0.95),
    "optimizer.eps": 1e-15,
    "optimizer.weight_decay": 0.01,
    "optimizer.max_norm": 1.0,
    "evaluation.every": 100,
    "evaluation.prompts": 1_000,
    "evaluation.samples": 16,
    "evaluation.temperature": 1.0,
}


@pytest.mark.parametrize("name", PAPER)
def test_the_choices_of_the_paper(name):
    recipe = load(name)
    objective = recipe.objective
    assert PAPER[name] == (
        recipe.loss,
        objective.advantage_scale,
        objective.averaging,
        objective.zero_variance,
        recipe.curriculum.no_positive_resampling,
        recipe.model.fp32_head,
        recipe.off_policy.kind,
        recipe.batch.prompts,
    )
    assert {key: value for key, value in leaves_of(recipe) if key in SHARED} == SHARED


def test_the_demo():
    recipe = load("demo")
    differs = {key: value for key, value in leaves_of(recipe) if value != dict(leaves_of(Recipe()))[key]}
    assert recipe.model.path == "demo" and recipe.task.kind == "chain" and not recipe.prompt.chat_template
    assert {"loss.kind", "objective.averaging", "curriculum.no_positive_resampling"}.isdisjoint(differs)
    assert recipe.length.phrase == "{close}" and recipe.length.think_tokens[1] < 100


def test_scalerl_is_the_default_and_spells_every_key_out():
    assert load("scalerl") == Recipe()
    stated = tomllib.loads(path_of("scalerl").read_text())
    flat = {
        f"{name}.{inner}" if isinstance(value, dict) else name
        for name, value in stated.items()
        for inner in (value if isinstance(value, dict) else [""])
    }
    assert flat == {key for key, _ in leaves_of(Recipe())}


def test_every_shipped_file_has_a_name_and_a_comment():
    assert {f"{name}.toml" for name in names()} == {file.name for file in FOLDER.iterdir()}
    assert all(path_of(name).read_text().startswith("# ") for name in names())
    assert not any(re.search(r"[^\x00-\x7f]", path_of(name).read_text()) for name in names())
    with pytest.raises(KeyError):
        path_of("other")


def test_the_recipes_of_the_repository_are_those_shipped():
    root = Path(__file__).parents[2]
    assert (root / "recipes").resolve() == FOLDER.resolve()
    assert load(root / "recipes" / "dapo.toml") == load("dapo")
