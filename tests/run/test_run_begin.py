import json
import os

import pytest

from scalerl.errors import InputError
from scalerl.readers import read
from scalerl.run import Run, is_run


def test_the_recipe_is_the_first_file(tmp_path):
    with Run.create(tmp_path / "deep/run", "seed = 3\n"):
        assert sorted(path.name for path in (tmp_path / "deep/run").iterdir()) == ["lock", "recipe.toml"]
        assert (tmp_path / "deep/run/recipe.toml").read_text() == "seed = 3\n" and is_run(tmp_path / "deep/run")


def test_a_run_is_not_begun_twice(tmp_path):
    Run.create(tmp_path / "run", "seed = 1\n").close()
    with pytest.raises(
        InputError, match=r"run: is a run already: go on with it by --resume, or name another --run$"
    ):
        Run.create(tmp_path / "run", "seed = 2\n")
    assert (tmp_path / "run/recipe.toml").read_text() == "seed = 1\n"


def test_a_folder_of_others_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="is not empty and no run; name a new folder with --run"):
        Run.create(tmp_path, "seed = 1\n")
    with pytest.raises(InputError, match=r"thesis.tex: is a file"):
        Run.create(tmp_path / "thesis.tex", "")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_and_one_killed_at_birth_will_do(tmp_path):
    (tmp_path / "lock").write_text("1\n")
    (tmp_path / ".recipe.toml.tmp").write_text("se")
    Run.create(tmp_path, "seed = 1\n").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "recipe.toml"]


def test_what_is_no_run_cannot_go_on(tmp_path):
    for begin in (Run.open, Run.read):
        with pytest.raises(InputError, match=r"nowhere: is no run: it has no recipe.toml"):
            begin(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_one_may_not_write_is_said(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be made"):
        Run.create(tmp_path / "run", "")


def test_logs_are_appended_and_read_back(tmp_path):
    with Run.create(tmp_path / "run", "") as run:
        run.append("metrics.jsonl", {"step": 1, "loss": float("nan")})
        run.append("metrics.jsonl", {"step": 2, "loss": 0.5})
        assert (
            tmp_path / "run/metrics.jsonl"
        ).read_text() == '{"step": 1, "loss": null}\n{"step": 2, "loss": 0.5}\n'
        with (tmp_path / "run/metrics.jsonl").open("a") as torn:
            torn.write('{"step": 3, "lo')
        assert run.records("metrics.jsonl") == [{"step": 1, "loss": None}, {"step": 2, "loss": 0.5}]
        assert run.records("evals.jsonl") == []


@pytest.mark.parametrize("name", ["evals.json", "evals/a.jsonl", "../evals.jsonl", "/tmp/evals.jsonl"])
def test_a_log_stands_at_the_top(tmp_path, name):
    with Run.create(tmp_path / "run", "") as run, pytest.raises(ValueError, match="expected"):
        run.append(name, {})


def test_files_are_whole_and_inside(tmp_path):
    with Run.create(tmp_path / "run", "") as run:
        run.write_file("evals/step-000100.jsonl", b"old\n")
        (tmp_path / "reader").hardlink_to(tmp_path / "run/evals/step-000100.jsonl")
        run.write_file("evals/step-000100.jsonl", b"new\n")
        assert (tmp_path / "reader").read_bytes() == b"old\n"  # replaced, not written over
        assert [path.name for path in (tmp_path / "run/evals").iterdir()] == ["step-000100.jsonl"]
        assert (tmp_path / "run/evals/step-000100.jsonl").read_bytes() == b"new\n"
        for name in ("../a", "/a", "a/b/c"):
            with pytest.raises(ValueError, match=f"file is '{name}'; expected"):
                run.write_file(name, b"")


def test_old_rollouts_leave(tmp_path):
    with Run.create(tmp_path / "run", "") as run:
        for step in (10, 20, 1_000_000, 30):
            run.write_file(f"rollouts/step-{step:06d}.jsonl", b"")
        run.keep_newest("rollouts", 0)
        run.keep_newest("evals", 2)
        assert len(list((tmp_path / "run/rollouts").iterdir())) == 4
        run.keep_newest("rollouts", 2)
        names = sorted(path.name for path in (tmp_path / "run/rollouts").iterdir())
        assert names == ["step-000030.jsonl", "step-1000000.jsonl"]


def test_the_reading_half_reads_it(tmp_path):
    with Run.create(tmp_path / "run", "") as run:
        for step, passed in ((0, 1), (100, 2), (200, 3)):
            point = {"step": step, "gpu_hours": step / 10, "flops": step * 1e15, "tokens": step, "task": "chain"}
            point |= {"pass_rate": passed / 4, "num_prompts": 1, "num_samples": 4, "temperature": 1.0}
            run.append("evals.jsonl", point)
            count = {"task": "chain", "prompt": "a", "num_passed": passed, "num_samples": 4}
            run.write_file(f"evals/step-{step:06d}.jsonl", f"{json.dumps(count)}\n".encode())
        curve = read(tmp_path / "run")
    assert curve.value.tolist() == [0.25, 0.5, 0.75] and curve.counts.num_passed.tolist() == [[1], [2], [3]]
    assert curve.warnings == ()
