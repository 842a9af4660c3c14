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
    assert [json.loads(line)["step"] for line in (tmp_path / "run" / "evals.jsonl").open()] == [0, 2]
    again = refused(capsys, arguments(tmp_path / "run"))
    assert "--resume" in again
    assert run([*arguments(tmp_path / "run", "steps=6", "evaluation.every=2"), "--resume"]) == 0
    assert "forecast" not in capsys.readouterr().err
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
    _, said = child.communicate(timeout=120)
    assert child.returncode == 0 and "stopping with a checkpoint" in said
    steps = [int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").iterdir()]
    assert 25 <= max(steps) < 500
