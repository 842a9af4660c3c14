import json

import pytest

from scalerl.readers import read


def batch(step, correct=None, evals=60.0):
    """A row of metrics.jsonl: an evaluation runs before the batch of its row is trained on."""
    row = {"step": step, "progress/batch": step, "env/all/total_ac_tokens": 1000, "env/all/correct": 0.1}
    if correct is None:
        return row | {"time/total": 36.0}
    row |= {"test/env/all/correct": correct, "test/env/all/total_episodes": 128}
    return row | {"time/total": 36.0 + evals, "time/run_evals": evals}


ROWS = [batch(0, 0.25), batch(1), batch(2, 0.5), batch(3), {"step": 4, "test/env/all/correct": 0.75}]


def folder(tmp_path, rows=ROWS):
    path = tmp_path / "maths-rl"
    path.mkdir()
    (path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (path / "config.json").write_text('{"model_name": "m"}')
    (path / "checkpoints.jsonl").write_text('{"name": "000002", "batch": 2}\n')
    return path


def test_an_evaluation_counts_only_the_batches_before_it(tmp_path):
    curve = read(folder(tmp_path), gpus=100)
    assert (curve.name, curve.unit, curve.metric) == ("maths-rl", "gpu_hours", "pass_rate")
    assert curve.compute == pytest.approx([0, 2, 4]) and curve.value.tolist() == [0.25, 0.5, 0.75]
    assert curve.axes["tokens"].tolist() == [0, 2000, 4000] and curve.axes["steps"].tolist() == [0, 2, 4]
    assert curve.num_samples[:2].tolist() == [128, 128]


def test_the_file_itself_and_tokens_without_gpus(tmp_path):
    curve = read(folder(tmp_path) / "metrics.jsonl")
    assert (curve.name, curve.unit) == ("maths-rl", "tokens")


def test_training_value_stands_after_its_batch(tmp_path):
    curve = read(folder(tmp_path), value_column="env/all/correct")
    assert curve.axes["steps"].tolist() == [1, 2, 3, 4] and "not held-out" in curve.warnings[0]


def test_evaluation_longer_than_its_row_was_timed_outside(tmp_path):
    rows = [row | {"time/total": 36.0} if "time/total" in row else row for row in ROWS]
    curve = read(folder(tmp_path, rows), gpus=100)
    assert curve.compute == pytest.approx([0, 2, 4])
    assert curve.warnings == ("read from metrics.jsonl of the folder",)


def test_evaluation_time_that_is_not_logged_is_said(tmp_path):
    rows = [{key: row[key] for key in row if key != "time/run_evals"} for row in ROWS]
    curve = read(folder(tmp_path, rows), gpus=1)
    assert any("evaluation time could not be told" in words for words in curve.warnings)
