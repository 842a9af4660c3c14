"""Chains and programs trained together: fixed shares, two curves, and verdicts counted by kind."""

import json
from collections import Counter

import pytest
from small_runs import evals, lines, resumed, same_weights, trained

import scalerl
from scalerl.report.rollout_reading import read_recorded
from scalerl.report.rollout_table import summary_table
from scalerl.run.groups import read_groups
from scalerl.sandbox import unavailable

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))


@pytest.fixture
def parts(tmp_path):
    """Problems in words that the shipped policy knows; it writes no fences, so that every answer is wrong."""
    tests = [{"stdin": f"{n}\n", "stdout": f"{n}\n"} for n in range(3)]
    rows = [{"prompt": f"{a} a + {b} ?", "tests": tests} for a in range(10) for b in range(4)]
    (tmp_path / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = f'{{kind="code", path="{tmp_path}/problems.jsonl", instruction=""}}'
    chain = '{kind="chain", steps=[2,3], num_prompts=20}'
    return f'task.parts=[{{name="digits", weight=3, task={chain}}}, {{name="programs", task={code}}}]'


def test_a_run_of_both(parts, tmp_path):
    run = tmp_path / "run"
    trained(run, "task.kind=mixture", parts, "runtime.judges=2")
    tasks = Counter((line["task"], line["step"]) for line in lines(run))
    assert tasks == {(task, step): 1 for task in ("digits", "programs") for step in (0, 2, 4)}
    for path in (run / "rollouts").glob("*.jsonl"):
        groups = read_groups(path)
        assert Counter(group.prompt.task for group in groups) == {"digits": 3, "programs": 1}
        kinds = {(group.prompt.task, one.verdict.kind) for group in groups for one in group.rollouts}
        assert kinds == {("digits", ""), ("programs", "wrong")}
        assert all(set(group.prompt.answer) == {"tests"} for group in groups if group.prompt.task == "programs")
    steps = [line for line in lines(run, "metrics.jsonl") if "verdict/wrong" in line]
    assert [line["verdict/wrong"] for line in steps] == [4] * 4 and steps[0]["verdict/passed"] == 0
    looks = [line for line in lines(run, "metrics.jsonl") if "eval/programs/verdict/wrong" in line]
    assert [line["eval/programs/verdict/wrong"] for line in looks] == [16] * 3
    assert not any(key.startswith("eval/digits/verdict") for key in looks[0])
    assert all(f"pool/{task}/size" in steps[0] for task in ("digits", "programs"))
    assert [scalerl.read(run, task=task).task for task in ("digits", "programs")] == ["digits", "programs"]
    table = summary_table(read_recorded(run))
    assert "Wrong" in [column.title for column in table.columns]


def test_a_resume_judges_alike(parts, tmp_path):
    changes = ("task.kind=mixture", parts)
    trained(tmp_path / "whole", *changes)
    trained(tmp_path / "run", *changes, "steps=2")
    resumed(tmp_path / "run", *changes, "steps=4")
    assert same_weights(tmp_path / "whole", tmp_path / "run")
    assert evals(tmp_path / "whole") == evals(tmp_path / "run")
