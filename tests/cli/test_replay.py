"""Recorded rollouts into the trainer alone."""

import json
import shutil

import pytest


def logged(run):
    """The metrics of each update as the run logged them."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    return {one["step"]: one for one in records if "loss/value" in one}


def test_a_replay_of_every_step_makes_the_same_updates(scalerl, trained):
    result = scalerl("replay", trained, "--json")
    assert [record["step"] for record in result.records] == [1, 2, 3]
    for record in result.records:
        measured = {"memory/peak_bytes"}
        own = logged(trained)[record["step"]]
        assert {key for key in record if record[key] != own[key]} <= measured
    assert result.err == ""


def test_from_a_checkpoint_with_its_moments(scalerl, trained):
    result = scalerl("replay", trained, "--from-checkpoint", 1, "--json")
    assert [record["step"] for record in result.records] == [2, 3]
    own = logged(trained)
    assert [one["gradient/norm"] for one in result.records] == [own[step]["gradient/norm"] for step in (2, 3)]
    assert result.err == ""


def test_another_loss_on_the_same_rollouts(scalerl, trained):
    overrides = ("--set", "loss.kind=dapo", "--set", "loss.clip_low=1e-6", "--set", "loss.clip_high=1e-6")
    records = scalerl("replay", trained, *overrides, "--json").records
    own = logged(trained)
    assert records[0]["reward/mean"] == own[1]["reward/mean"]
    assert records[2]["loss/capped_share"] > own[3]["loss/capped_share"]


def test_some_steps_and_a_note_that_weights_differ(scalerl, trained):
    result = scalerl("replay", trained, "--steps", "2-3")
    firsts = [line.split()[0] for line in result.out.splitlines()]
    assert [word for word in firsts if word.isdigit()] == ["2", "3"]
    assert result.err.startswith("note: not every step was replayed")
    assert max(len(line) for line in result.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--steps", "7-9"], "has rollouts of steps 1 to 3, none of those asked for"),
        (["--steps", "3-1"], "--steps is '3-1'; expected the lower number first"),
        (["--steps", "x"], "--steps is 'x'; expected a whole number, 0 or more"),
        (["--from-checkpoint", "8"], "has no checkpoint of step 8; there are those of 1, 2, 3"),
        (
            ["--from-checkpoint", "3"],
            "the checkpoint is at step 3 and no rollouts are recorded after it, the last are of step 3; "
            "name an earlier one, such as 2",
        ),
        (["--set", "loss.kind=nothing"], "loss.kind"),
    ],
)
def test_refusals(refused, trained, arguments, said):
    assert said in refused("replay", trained, *arguments)


def test_the_only_checkpoint_is_the_last(refused, trained, tmp_path):
    early = shutil.ignore_patterns("step-000001", "step-000002")
    copy = shutil.copytree(trained, tmp_path / "run", ignore=early)
    assert refused("replay", copy, "--from-checkpoint", 3).endswith("; leave --from-checkpoint out")


def test_no_run(refused, tmp_path):
    assert refused("replay", tmp_path / "no").endswith("/no: is no run: it has no recipe.toml; nothing is there")


def test_a_run_that_recorded_nothing(refused, trained, tmp_path):
    bare = shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("rollouts"))
    assert "has no recorded rollouts" in refused("replay", bare)
