"""`scalerl train` as a person uses it: what it says, what it leaves behind, and how it refuses."""

import json
import os
import signal
import subprocess
import sys

import pytest

from scalerl.cli import run

SMALL = [
    "steps=2", "batch.prompts=4", "batch.samples=4", "evaluation.prompts=8", "evaluation.samples=2",
    "evaluation.every=2", "engine.slots=12",
]  # fmt: skip


def arguments(place, *changes, recipe="demo"):
    settings = [part for change in (*SMALL, *changes) for part in ("--set", change)]
    return ["train", recipe, "--plain", "--run", str(place), *settings]


def refused(capsys, words, *more):
    """The one line of a refusal."""
    code = run([*words, *more])
    said = capsys.readouterr().err.strip().splitlines()
    assert code == 2 and len(said) == 1 and said[0].startswith("error: "), (code, said)
    return said[0]


def test_a_run_with_too_few_evaluations_for_a_report_still_succeeds(tmp_path, capsys):
    assert run(arguments(tmp_path / "run")) == 0
    said = capsys.readouterr().out
    assert "cispo (cap 5.0), pipeline with k = 8" in said and "log-ratio" in said
    assert not (tmp_path / "run" / "report").exists()
    assert "\nno report: 2 evaluations, 3 are needed in the first half of the compute;" in said
    assert [json.loads(line)["step"] for line in (tmp_path / "run" / "evals.jsonl").open()] == [0, 2]
    again = refused(capsys, arguments(tmp_path / "run"))
    assert "--resume" in again
    assert run([*arguments(tmp_path / "run", "steps=6", "evaluation.every=2"), "--resume"]) == 0
    said = capsys.readouterr()
    assert "forecast" not in said.err and f"{tmp_path / 'run'} goes on at step 2 of 6\n" in said.out
    assert "\nno report: 4 evaluations, 2 of them early enough, 3 are needed in the first half" in said.out
    assert run(["train", "--plain", "--resume", "--run", str(tmp_path / "run")]) == 0
    assert f"{tmp_path / 'run'} is done: 6 of 6 steps; --set steps=N takes it further\n" in capsys.readouterr().out
    assert "loss.cap: 5.0 -> 9.0" in refused(
        capsys, arguments(tmp_path / "run", "steps=6", "loss.cap=9"), "--resume"
    )
    assert run([*arguments(tmp_path / "fork", "steps=8", "loss.cap=9"), "--fork", str(tmp_path / "run")]) == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("loss.capp=5", "loss.capp"),
        ("loss.cap=0.5", "loss.cap"),
        ("loss.clip_low=0.2", "clip_low"),
        ("sampling.top_p=0.9", "top_p"),
        ("model.path=/nowhere", "model.path"),
        ("prompt.think_close=<done>", "prompt.think_close"),
        ("prompt.system=hello", "prompt.system"),
        ("length.phrase=never {close}", "length.phrase"),
        ("length.think_tokens=[300,400]", "positions"),
        ("task.kind=gym", "task.dataset"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, change, word):
    assert word in refused(capsys, arguments(tmp_path / "run", change))
    assert not (tmp_path / "run").exists()


def test_a_dataset_line_without_an_answer_and_an_overlap_are_named(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"question": "1 a + 1 ?", "answer": "2"}\n{"question": "2 a + 2 ?"}\n')
    maths = ("task.kind=maths", f"task.path={tmp_path / 'a.jsonl'}")
    said = refused(capsys, arguments(tmp_path / "run", *maths))
    assert "a.jsonl, line 2" in said and "answer" in said
    (tmp_path / "a.jsonl").write_text(
        '{"question": "1 a + 1 ?", "answer": "2"}\n{"question": "2 a + 2 ?", "answer": "4"}\n'
    )
    (tmp_path / "b.jsonl").write_text('{"question": "2 a + 2 ?", "answer": "4"}\n')
    overlap = (*maths, f"task.held_out_path={tmp_path / 'b.jsonl'}")
    assert "2 a + 2 ?" in refused(capsys, arguments(tmp_path / "run", *overlap))
    assert not (tmp_path / "run").exists()


def test_a_model_whose_weights_are_missing_or_cut_off_is_refused(tmp_path, capsys):
    import shutil

    from safetensors.torch import load_file, save_file

    from scalerl.model.loading import folder_of

    model = shutil.copytree(folder_of("demo"), tmp_path / "model")
    tensors = load_file(model / "model.safetensors")
    tensors.pop("model.layers.0.self_attn.q_proj.weight")
    save_file(tensors, model / "model.safetensors", metadata={"format": "pt"})
    assert "q_proj" in refused(capsys, arguments(tmp_path / "run", f"model.path={model}"))
    (model / "model.safetensors").write_bytes(b"cut off")
    assert "cannot be read" in refused(capsys, arguments(tmp_path / "run", f"model.path={model}"))


def test_a_dry_run_prints_the_recipe_and_its_memory(capsys):
    assert run(["train", "demo", "--dry-run", "--set", "loss.kind=dapo"]) == 0
    said = capsys.readouterr().out
    assert 'kind = "dapo"' in said and "clip_high = 0.26" in said and "GiB" in said
    assert run(["train", "scalerl", "--dry-run"]) == 0
    assert "unknown" in capsys.readouterr().out


def test_a_termination_ends_with_a_checkpoint_and_a_resume_goes_on(tmp_path):
    words = [sys.executable, "-m", "scalerl", *arguments(tmp_path / "run", "steps=500", "evaluation.every=500")]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ), text=True)
    for line in child.stdout:
        if line.startswith("step 25 "):
            child.send_signal(signal.SIGTERM)
            break
    told, said = child.communicate(timeout=120)
    assert child.returncode == 0 and "stopping with a checkpoint" in said
    steps = [int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").iterdir()]
    assert 25 <= max(steps) < 500
    assert told.splitlines()[-1] == (
        f"stopped at step {max(steps)} of 500; a checkpoint is written: "
        f"go on with scalerl train --run {tmp_path / 'run'} --resume"
    )


def test_a_closed_pipe_does_not_end_training(tmp_path):
    words = [sys.executable, "-m", "scalerl", *arguments(tmp_path / "run", "steps=4", "checkpoint.every=4")]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ))
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=120) == 0
    assert (tmp_path / "run" / "checkpoints" / "step-000004").is_dir()


def test_output_that_nobody_reads_from_the_start_on_does_not_end_training(tmp_path):
    read, written = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "scalerl", *arguments(tmp_path / "run", "steps=1")]
    assert subprocess.run(words, stdout=written, stderr=written, check=False, timeout=120).returncode == 0
    os.close(written)
    assert (tmp_path / "run" / "checkpoints" / "step-000001").is_dir()


def test_what_is_no_run_is_said_with_its_own_remedy(tmp_path, capsys):
    nothing = str(tmp_path / "nothing")
    said = refused(capsys, ["train", "--resume", "--run", nothing])
    assert (
        said == f"error: {nothing}: is no run: it has no recipe.toml; begin it with a recipe and without --resume"
    )
    assert said == refused(capsys, arguments(nothing), "--resume")
    forked = refused(capsys, arguments(tmp_path / "run"), "--fork", nothing)
    assert forked == f"error: {nothing}: is no run: it has no recipe.toml; nothing is there"


def test_a_dry_run_refuses_what_is_known_at_once(tmp_path, capsys):
    from scalerl.run.directory import Run

    with Run.create(tmp_path / "run", "seed = 0\n"):
        assert "is a run already" in refused(capsys, arguments(tmp_path / "run"), "--dry-run")
        busy = refused(capsys, arguments(tmp_path / "run"), "--resume", "--dry-run")
        assert f"process {os.getpid()} is writing this run" in busy
    assert run([*arguments(tmp_path / "run"), "--resume", "--dry-run"]) == 0
    capsys.readouterr()
    fork = ("--fork", str(tmp_path / "nothing"), "--dry-run")
    assert "nothing is there" in refused(capsys, arguments(tmp_path / "new"), *fork)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("kind", "key", "name"),
    [("maths", "path", "no.jsonl"), ("code", "held_out_path", "no.jsonl"), ("python", "path", "no.py:Reverse")],
)
def test_a_dry_run_refuses_a_task_file_that_is_not_there(tmp_path, capsys, kind, key, name):
    (tmp_path / "there.jsonl").touch()
    paths = {"path": tmp_path / "there.jsonl", key: tmp_path / name}
    changes = [f"task.kind={kind}", *(f"task.{one}={path}" for one, path in paths.items())]
    said = refused(capsys, arguments(tmp_path / "run", *changes), "--dry-run")
    assert f"{tmp_path / name.partition(':')[0]}: there is no such file" in said


def test_a_dry_run_looks_into_a_mixture(tmp_path, capsys):
    parts = '[{name="sums",task={kind="maths",path="no.jsonl"}},{name="chain",task={kind="chain"}}]'
    changes = ("task.kind=mixture", f"task.parts={parts}")
    assert "no.jsonl: there is no such file" in refused(capsys, arguments(tmp_path / "run", *changes), "--dry-run")
