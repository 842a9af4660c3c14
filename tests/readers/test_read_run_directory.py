import json

import numpy as np
import pytest

from scalerl.errors import InputError
from scalerl.readers import read, read_all


def evaluation(step, pass_rate, **more):
    line = {"step": step, "gpu_hours": step / 10, "flops": step * 1e15, "tokens": step * 1000}
    line |= {"pass_rate": pass_rate, "num_prompts": 4, "num_samples": 2, "temperature": 1.0, "task": "chain"}
    return line | more


def run(tmp_path, evaluations, tail=""):
    folder = tmp_path / "demo"
    folder.mkdir(exist_ok=True)
    (folder / "evals.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in evaluations) + tail)
    return folder


RISING = [evaluation(0, 0.25), evaluation(100, 0.5), evaluation(200, 0.625)]


def counts(folder, step, passed, task="chain"):
    (folder / "evals").mkdir(exist_ok=True)
    records = [{"task": task, "prompt": f"p{i}", "num_passed": k, "num_samples": 2} for i, k in enumerate(passed)]
    path = folder / "evals" / f"step-{step:06d}.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_points_axes_and_samples(tmp_path):
    curve = read(run(tmp_path, RISING))
    assert (curve.name, curve.unit, curve.compute.tolist()) == ("demo", "gpu_hours", [0, 10, 20])
    assert curve.value.tolist() == [0.25, 0.5, 0.625] and curve.num_samples.tolist() == [8, 8, 8]
    assert set(curve.axes) == {"gpu_hours", "flops", "tokens", "steps"}
    assert curve.against("flops").last_compute == 2e17
    assert curve.counts is None and curve.truncation is None and curve.warnings == ()


def test_the_evals_file_itself_may_be_given(tmp_path):
    assert read(run(tmp_path, RISING) / "evals.jsonl").name == "demo"


def test_prompt_counts(tmp_path):
    folder = run(tmp_path, RISING)
    for step, passed in ((0, [0, 0, 1, 1]), (100, [0, 1, 1, 2]), (200, [0, 1, 2, 2])):
        counts(folder, step, passed)
    found = read(folder).counts
    assert found is not None and found.prompts == ("p0", "p1", "p2", "p3")
    assert found.num_passed.tolist() == [[0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 2, 2]]
    # All three points count for each: rates (0, 2, 4, 5 of 6) with half an answer more, p(1-p)/2 over 4 squared.
    rates = (np.array([0, 2, 4, 5]) + 0.5) / 7
    assert found.noise_variance() == pytest.approx((rates * (1 - rates)).sum() / 2 / 16)
    counts(folder, 200, [0, 1, 2])
    curve = read(folder)
    assert curve.counts is None and "prompt counts are left out" in curve.warnings[0]


def test_impossible_counts_are_refused(tmp_path):
    folder = run(tmp_path, RISING)
    counts(folder, 100, [3])
    with pytest.raises(InputError, match=r"step-000100.jsonl, line 1: 3 of 2 samples passed"):
        read(folder)


def test_flops_where_gpu_hours_say_nothing(tmp_path):
    assert read(run(tmp_path, [line | {"device": "cpu"} for line in RISING])).unit == "flops"
    assert read(run(tmp_path, [line | {"gpu_hours": 0} for line in RISING])).unit == "flops"
    without = [{key: line[key] for key in line if key != "gpu_hours"} for line in RISING]
    curve = read(run(tmp_path, without))
    assert curve.unit == "flops" and "gpu_hours" not in curve.axes


def test_another_axis(tmp_path):
    curve = read(run(tmp_path, RISING), compute_column="tokens")
    assert curve.unit == "tokens" and curve.last_compute == 200_000
    assert read(run(tmp_path, RISING), compute_column="steps").last_compute == 200
    with pytest.raises(InputError, match="is not there"):
        read(run(tmp_path, RISING), compute_column="energy")


def test_several_tasks(tmp_path):
    both = [line | {"task": task} for line in RISING for task in ("chain", "sums")]
    folder = run(tmp_path, both)
    with pytest.raises(InputError, match="--task; there are chain, sums"):
        read(folder)
    assert [curve.name for curve in read_all(folder)] == ["demo [chain]", "demo [sums]"]
    assert read(folder, task="sums").name == "demo"
    with pytest.raises(InputError, match="there are chain, sums"):
        read(folder, task="code")


def test_read_all_of_one_task_keeps_the_name(tmp_path):
    assert [curve.name for curve in read_all(run(tmp_path, RISING))] == ["demo"]


def test_resumed_step_and_torn_line(tmp_path):
    folder = run(tmp_path, [*RISING, evaluation(100, 0.5625)], tail='{"step": 300, "pass_')
    curve = read(folder)
    assert curve.value.tolist() == [0.25, 0.5625, 0.625]
    assert "line 5" in curve.warnings[0] and "left out" in curve.warnings[0]


def test_mixed_temperatures_are_refused(tmp_path):
    mixed = [*RISING[:2], evaluation(200, 0.6, temperature=0.6)]
    with pytest.raises(InputError, match=r"temperatures 1 \(line 1\) and 0.6 \(line 3\)"):
        read(run(tmp_path, mixed))


def test_truncation_is_kept(tmp_path):
    curve = read(run(tmp_path, [line | {"truncation": 0.1} for line in RISING]))
    assert curve.truncation is not None and curve.truncation.tolist() == [0.1, 0.1, 0.1]


def test_run_without_evaluations(tmp_path):
    (tmp_path / "recipe.toml").write_text("seed = 1\n")
    with pytest.raises(InputError, match="no evaluations yet"):
        read(tmp_path)
    with pytest.raises(InputError, match="only 2 points"):
        read(run(tmp_path, RISING[:2]))


def test_bad_fields_name_the_line(tmp_path):
    with pytest.raises(InputError, match=r"evals.jsonl, line 2: 'pass_rate' is 'half'"):
        read(run(tmp_path, [RISING[0], evaluation(100, "half"), RISING[2]]))
    with pytest.raises(InputError, match=r"line 1: 'step' is empty"):
        read(run(tmp_path, [{"pass_rate": 0.5}]))


def test_directory_that_is_no_run(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="no run that is known"):
        read(tmp_path)


def test_a_task_with_too_few_evaluations_is_left_out_and_said(tmp_path):
    folder = run(tmp_path, [*RISING, {**RISING[0], "task": "tiny"}])
    [only] = read_all(folder)
    assert len(only) == len(RISING) and any(
        "task 'tiny' has only 1 evaluations" in words for words in only.warnings
    )


def test_hours_that_start_again_are_left_out_and_said_and_negative_ones_refused(tmp_path):
    again = [{**record, "gpu_hours": 1.0} for record in RISING]
    curve = read(run(tmp_path, again))
    assert curve.unit != "gpu_hours" and any("gpu_hours do not rise" in words for words in curve.warnings)
    with pytest.raises(InputError, match="line 1: 'gpu_hours' is negative; expected 0 or more"):
        read(run(tmp_path, [{**record, "gpu_hours": record["gpu_hours"] - 5} for record in RISING]))


@pytest.mark.parametrize("cell", ["abc", float("nan"), True, [1]])
def test_a_number_that_is_none_is_refused_with_its_line(tmp_path, cell):
    broken = [RISING[0], {**RISING[1], "gpu_hours": cell}, RISING[2]]
    with pytest.raises(InputError, match=r"line 2: 'gpu_hours' is .*; expected a finite number"):
        read(run(tmp_path, broken))


def test_unit_does_not_rename_another_column_when_its_own_has_gaps(tmp_path):
    gaps = [RISING[0], {**RISING[1], "gpu_hours": None}, RISING[2]]
    curve = read(run(tmp_path, gaps))
    assert curve.unit == "flops" and any("gpu_hours do not rise" in words for words in curve.warnings)
    with pytest.raises(InputError, match="--unit is 'gpu_hours', but 'gpu_hours' does not rise"):
        read(run(tmp_path, gaps), unit="gpu_hours")
