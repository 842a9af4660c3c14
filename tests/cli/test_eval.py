"""Runs and models on held-out prompts."""

import json
import shutil

import pytest

from scalerl.run import read_groups


def task_file(file, /, **keys):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    file.write_text(f"[task]\n{lines}")
    return file


def pass_rates(run):
    return {point["step"]: point["pass_rate"] for point in map(json.loads, (run / "evals.jsonl").open())}


@pytest.mark.parametrize("step", [1, 3])
def test_a_run_scores_what_it_scored_while_it_ran(scalerl, trained, step):
    (record,) = scalerl("eval", trained, "--step", step, "--json").records
    assert record["measures"]["mean@4"]["value"] == pass_rates(trained)[step]
    assert (record["step"], record["num_prompts"], record["set"], record["warnings"]) == (step, 12, "chain", [])


def test_the_model_it_began_from_scores_what_it_scored_at_its_start(scalerl, trained):
    result = scalerl("eval", "demo", "--recipe", trained / "recipe.toml", "--json")
    assert result.records[0]["measures"]["mean@4"]["value"] == pass_rates(trained)[0]


def test_a_run_stops_where_its_model_says(scalerl, trained, tmp_path):
    copy, answers = shutil.copytree(trained, tmp_path / "run"), tmp_path / "answers.jsonl"
    config = copy / "model/generation_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "eos_token_id": [1, 7]}))
    scalerl("eval", copy, "-o", answers)
    found = [one for group in read_groups(answers) for one in group.rollouts]
    assert any(one.tokens[-1] == 7 and one.ending == "stopped" for one in found)


def test_measures_follow_from_the_answers_that_are_written(scalerl, trained, tmp_path):
    file = tmp_path / "answers.jsonl"
    result = scalerl("eval", trained, "--pass-at", "1,4", "--maj-at", "1", "--json", "-o", file)
    (record,) = result.records
    groups = read_groups(file)
    assert list(record["measures"]) == ["mean@4", "pass@1", "pass@4", "maj@1"]
    values = {name: one["value"] for name, one in record["measures"].items()}
    assert values["mean@4"] == pytest.approx(values["pass@1"]) == pytest.approx(values["maj@1"])
    assert values["pass@4"] == pytest.approx(sum(any(r.passed for r in one.rollouts) for one in groups) / 12)
    assert record["interruption"] == sum(r.is_interrupted for one in groups for r in one.rollouts) / 48
    assert sum(one["num_prompts"] for one in record["difficulties"].values()) == 12
    assert scalerl("show", file, "--limit", 1).code == 0


def test_fewer_prompts_are_the_first_of_them_and_more_samples_begin_alike(scalerl, trained, tmp_path):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    scalerl("eval", trained, "--prompts", 3, "--samples", 2, "-o", few)
    scalerl("eval", trained, "-o", many)
    for one, other in zip(read_groups(few), read_groups(many)[:3], strict=True):
        assert one.prompt == other.prompt
        assert [r.text for r in one.rollouts] == [r.text for r in other.rollouts[:2]]


def test_several_sets(scalerl, trained, tmp_path):
    short = task_file(tmp_path / "short.toml", kind="chain", steps=[2, 2], seed=5)
    result = scalerl("eval", trained, "--on", "own", "--on", f"easy={short}", "--prompts", 4, "--json")
    assert [record["set"] for record in result.records] == ["chain", "easy"]
    assert list(result.records[1]["difficulties"]) == ["2"]
    out = scalerl("eval", trained, "--on", short, "--prompts", 4).out
    assert "of short rightly: 4 prompts" in " ".join(out.split())


MIXTURE = """
[task]
kind = "mixture"
[[task.parts]]
name = "easy"
task = {kind = "chain", steps = [2, 2]}
[[task.parts]]
name = "hard"
task = {kind = "chain", steps = [8, 8]}
"""


def test_the_parts_of_a_mixture_are_told_apart(scalerl, trained, tmp_path):
    (tmp_path / "both.toml").write_text(MIXTURE)
    asked = ("eval", trained, "--on", tmp_path / "both.toml", "--prompts", 6, "--json")
    easy, hard = scalerl(*asked).records
    assert (easy["set"], hard["set"], easy["num_prompts"]) == ("both [easy]", "both [hard]", 6)
    (alone,) = scalerl(*asked, "--task", "hard").records
    assert (alone["set"], alone["measures"]) == ("both", hard["measures"])


def test_prompts_that_were_trained_on_are_told(scalerl, trained, tmp_path):
    pool = [group.prompt.text for group in read_groups(trained / "rollouts/step-000001.jsonl")]
    task = tmp_path / "task.py"
    task.write_text(TASK.format(texts=pool[:2]))
    one = task_file(tmp_path / "known.toml", kind="python", path=f"{task}:Known")
    out = scalerl("eval", trained, "--on", one, "--prompts", 2).out
    assert "2 prompts of known were trained on by this run" in " ".join(out.split())


TASK = """
from scalerl.records import Prompt, Verdict

class Known:
    name = "known"

    def prompts(self):
        return [Prompt(id="known:x", task="known", text="0 ?", answer=0)]

    def held_out(self, count):
        return [Prompt(id=f"known:{{i}}", task="known", text=t, answer=0) for i, t in enumerate({texts!r}[:count])]

    def judge(self, prompt, answer):
        return Verdict(score=0.0, passed=False)
"""


def test_a_dataset_without_a_held_out_file_is_asked_from_its_start(scalerl, trained, tmp_path):
    pytest.importorskip("math_verify")
    rows = [{"question": f"{digit} a + 1 ?", "answer": str(digit + 1)} for digit in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    one = task_file(tmp_path / "sums.toml", kind="maths", path="sums.jsonl")
    (record,) = scalerl("eval", trained, "--on", one, "--json").records
    assert (record["num_prompts"], record["num_errors"]) == (5, 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--step", "9"], "has no checkpoint of step 9; there are those of 1, 2, 3"),
        (["--pass-at", "8"], "--pass-at is 8; there are 4 answers to each prompt (--samples)"),
        (["--maj-at", "2,x"], "--maj-at is 'x'; expected a whole number, 1 or more"),
        (["--samples", "0"], "--samples is '0'; expected a whole number, 1 or more"),
        (["--samples", "2000"], "--samples is 2000; expected at most 1000"),
        (["--temperature", "0"], "--temperature is '0'; expected a positive number such as 0.7"),
        (["--recipe", "demo"], "--recipe says how to ask a model; a run has its own"),
        (["--set", "loss.cup=1"], "unknown"),
        (["--task", "maths"], "--task is 'maths'; chain has chain"),
        (["--on", "nowhere.toml"], "--on is 'nowhere.toml'; there is no file 'nowhere.toml'"),
        (["--on", "own", "--on", "own"], "--on has two sets of the name 'chain'"),
        (["-o", "a.json"], "--output is 'a.json'; expected a name that ends in .jsonl"),
    ],
)
def test_refusals(refused, trained, arguments, said):
    assert said in refused("eval", trained, *arguments)


def test_refusals_of_a_model(refused, tmp_path):
    assert "is no run; to ask a model say how with --recipe NAME" in refused("eval", "demo")
    assert "--step names a checkpoint of a run" in refused("eval", "demo", "--step", 1, "--recipe", "demo")
    empty = refused("eval", tmp_path, "--recipe", "demo")
    assert empty.startswith("error: RUN|MODEL is ") and "that folder has no config.json" in empty
    for more in ((), ("--recipe", "demo")):
        assert "nothing is there; expected a run, a Hugging Face folder" in refused("eval", tmp_path / "no", *more)


def test_one_sample_is_no_samples(scalerl, trained):
    out = " ".join(scalerl("eval", trained, "--samples", 1, "--prompts", 1).out.split())
    assert ": 1 prompt, 1 sample each, temperature 1." in out


@pytest.mark.parametrize(
    ("text", "said"), [("steps = 3\n", "has no [task]"), ("seed = 1\n[task]\nkind = 'chain'\n", "states 'seed'")]
)
def test_a_set_states_its_task_and_nothing_else(refused, trained, tmp_path, text, said):
    (tmp_path / "set.toml").write_text(text)
    assert said in refused("eval", trained, "--on", tmp_path / "set.toml")
