"""Reading rollouts, in the terminal and as a page."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from scalerl.run import read_groups


@pytest.fixture
def copied(trained, tmp_path):
    """The run without its checkpoints, to spoil."""
    return shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints", "model"))


def rollouts(run, step=3):
    return [one for group in read_groups(run / f"rollouts/step-{step:06d}.jsonl") for one in group.rollouts]


def test_the_last_step_with_its_table_first(scalerl, trained):
    result = scalerl("show", trained, "--limit", 1)
    found = rollouts(trained)
    assert result.code == 0
    assert result.out.splitlines()[0].split() == [
        "Difficulty", "Rollouts", "Pass", "rate", "Interrupted", "Truncated", "Mean", "tokens",
    ]  # fmt: skip
    rate = sum(one.passed for one in found) / len(found)
    assert re.search(rf"^  all +16 +{rate:.3f} ", result.out, re.MULTILINE)
    assert result.out.count("step 3 · chain:") == 1
    assert result.err == "1 of 16 are shown; --limit shows more, -o OUT.html writes a page\n"


@pytest.mark.parametrize(
    ("flag", "is_shown"),
    [
        ("--right", lambda one: one.passed),
        ("--wrong", lambda one: not one.passed),
        ("--interrupted", lambda one: one.is_interrupted),
    ],
)
def test_filters(scalerl, trained, flag, is_shown):
    out = scalerl("show", trained, flag, "--limit", 99).out
    count = sum(is_shown(one) for one in rollouts(trained))
    assert len(re.findall(r"answer \d of 4", out)) == count and 0 < count < 16


def test_what_was_forced_is_marked(scalerl, trained):
    out = scalerl("show", trained, "--interrupted", "--limit", 99).out
    assert out.count("forced    </think>") == sum(one.is_interrupted for one in rollouts(trained)) > 0
    assert "1 of them forced" in out


def test_a_prompt_is_followed_over_all_steps(scalerl, trained):
    first, last = (read_groups(trained / f"rollouts/step-00000{step}.jsonl")[0].prompt.id for step in (1, 3))
    assert "step 1 · " in scalerl("show", trained, "--prompt", first).out
    assert "step 3 · " in scalerl("show", trained, "--prompt", last.partition(":")[2][:6]).out


def test_nothing_is_wider_than_the_terminal(scalerl, trained):
    out = scalerl("show", trained, "--limit", 99).out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_the_page(scalerl, trained, tmp_path):
    page = tmp_path / "page.html"
    result = scalerl("show", trained, "--step", 2, "-o", page)
    assert (result.code, result.out, result.err) == (0, "", f"wrote {page}\n")
    text = page.read_text()
    assert text.count("<article ") == 16 and "</html>" in text


def test_a_page_can_be_cut_short(scalerl, trained, tmp_path):
    page = tmp_path / "page.html"
    scalerl("show", trained, "--limit", 3, "-o", page)
    assert page.read_text().count("<article ") == 3 and "The first 3 of 16 rollouts" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--step", "9"], "has no rollouts of step 9; there are those of 1, 2, 3"),
        (["--step", "x"], "--step is 'x'; expected a whole number, 0 or more"),
        (["--limit", "0"], "--limit is '0'; expected a whole number, 1 or more"),
        (["--task", "x"], "none of 16 rollouts is as you ask; --task is 'x', there are chain"),
        (["--prompt", "no such prompt"], "rollouts is as you ask"),
        (["-o", "page.pdf"], "--output is 'page.pdf'; expected a name that ends in .html or .htm"),
    ],
)
def test_refusals(refused, trained, arguments, said):
    assert said in refused("show", trained, *arguments)


def test_a_difficulty_that_is_not_there_is_refused_with_those_that_are(refused, trained):
    found = {group.prompt.difficulty for group in read_groups(trained / "rollouts/step-000003.jsonl")}
    there = ", ".join(sorted(found, key=int))
    said = refused("show", trained, "--difficulty", "99")
    assert said.endswith(f"none of 16 rollouts is as you ask; --difficulty is '99', there are {there}")


def test_a_run_that_recorded_nothing(refused, copied):
    shutil.rmtree(copied / "rollouts")
    recipe = copied / "recipe.toml"
    said = refused("show", copied)
    assert "has no recorded rollouts: it ended at step 3 and log.rollouts_every is 1" in said
    recipe.write_text(recipe.read_text().replace("steps = 3 ", "steps = 9 ", 1))
    assert "has no recorded rollouts yet: log.rollouts_every is 1" in refused("show", copied)
    recipe.write_text(recipe.read_text().replace("rollouts_every = 1", "rollouts_every = 0"))
    assert "has no recorded rollouts: log.rollouts_every is 0" in refused("show", copied)


def test_a_torn_file_is_told_with_its_line(refused, copied):
    file = copied / "rollouts/step-000003.jsonl"
    file.write_bytes(file.read_bytes()[:-40])
    assert f"{file}, line 4: is no recorded group" in refused("show", copied)


def test_no_run(refused, tmp_path):
    assert "is no run and no file of rollouts" in refused("show", tmp_path)


def test_a_hostile_answer_does_not_steer_the_terminal(scalerl, copied):
    file = copied / "rollouts/step-000003.jsonl"
    groups = [json.loads(line) for line in file.read_text().splitlines()]
    groups[0]["rollouts"][0]["text"] = "\x1b[2J</think> \x07"
    file.write_text("".join(json.dumps(group) + "\n" for group in groups))
    out = scalerl("show", copied, "--limit", 1).out
    assert "\x1b" not in out and "\\x1b[2J" in out


def test_reading_needs_no_torch(trained):
    code = "import sys; from scalerl.cli import run; run(['show', sys.argv[1]]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(trained)], check=True, capture_output=True)
