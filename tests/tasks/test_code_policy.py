"""The shipped policy for programs and chains: its tokenizer loses nothing, and it knows both tasks a little."""

import json
import sys
from importlib import import_module
from itertools import islice
from pathlib import Path

import pytest

from scalerl.model.loading import load_tokenizer
from scalerl.pipeline.running import start
from scalerl.recipe.paths import place_of
from scalerl.recipe.reading import load
from scalerl.recipe.sections import Model
from scalerl.recipe.tasks import Code
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.tasks.chain import END, THINK_CLOSE
from scalerl.tasks.fenced import last_block

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "scalerl" / "demo_code"
sys.path.append(str(ROOT / "examples"))
script = import_module("make_code_policy")
problems = import_module("make_code_problems")

RECIPE = load("code-demo")
ENCODER = Encoder(load_tokenizer(RECIPE.model.path), RECIPE.prompt)


def tokens(text):
    return script.np.array(ENCODER.tokenizer(text, add_special_tokens=False)["input_ids"], script.np.int32)


def test_the_tokenizer_is_what_the_script_makes():
    assert json.loads((SHIPPED / "tokenizer.json").read_text()) == json.loads(
        script.tokenizer().backend_tokenizer.to_str()
    )


@pytest.mark.parametrize("is_short", [True, False])
def test_programs_come_back_letter_by_letter(is_short):
    for problem, _ in islice(problems.problems(seed=0), 60):
        program = problem.program(is_short)
        answer = tokens(f" thought{THINK_CLOSE}{script.FENCE}{program}{script.CLOSED}{END}")
        thinking, text, is_closed = ENCODER.parts(answer)
        assert (thinking, is_closed, last_block(text).strip("\n")) == ("thought", True, program)
        asked = ENCODER.prompt(Prompt(id="code:1", task="code", text=problem.statement, answer=None))
        assert ENCODER.text(asked) == problem.statement


@pytest.mark.parametrize("text", ["while 1:\n  pass  # {}[]~^\\", "x" * 40, "3 a + 4 b ?", "  two  blanks\n\n"])
def test_any_plain_text_comes_back(text):
    assert ENCODER.text(tokens(text)) == text


def test_worked_chains_take_as_many_tokens_as_words():
    text = " a 7 b 5</think> 5<end>"
    assert len(tokens(text)) == 7 and ENCODER.parts(tokens(text)) == ("a 7 b 5", "5", True)


def test_the_recipe_trains_both_tasks(tmp_path):
    small = ("steps=2", "batch.prompts=4", "batch.samples=4", "engine.slots=32", "evaluation.every=1",
             "evaluation.prompts=20", "evaluation.samples=2", "log.rollouts_every=1")  # fmt: skip
    with start(load("code-demo", small), tmp_path / "run", lambda _: (), lambda: False) as started:
        started.loop.run()
    points = [json.loads(line) for line in (tmp_path / "run" / "evals.jsonl").read_text().splitlines()]
    assert [(one["step"], one["task"]) for one in points] == [
        (step, task) for step in range(3) for task in ("maths", "code")
    ]
    assert all(0.1 < one["pass_rate"] < 0.75 for one in points)
    logged = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [one for one in logged if "batch/rollouts" in one]
    assert [sum(one[key] for key in one if key.startswith("verdict/")) for one in steps] == [8, 8]


def test_paths_of_what_is_shipped_are_names_everywhere(tmp_path):
    code = RECIPE.task.parts[1].task
    assert (RECIPE.model.path, code.path) == ("demo_code", "demo_code/train.jsonl")
    assert (
        place_of(Model, "demo_code") == place_of(Code, code.path).parent == ROOT / "src" / "scalerl" / "demo_code"
    )
    (tmp_path / "a.toml").write_text('[task]\nkind = "code"\npath = "./demo_code/train.jsonl"')
    assert load(tmp_path / "a.toml").task.path == str(tmp_path / "demo_code" / "train.jsonl")
