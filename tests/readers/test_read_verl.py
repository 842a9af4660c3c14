import json

import numpy as np
import pytest

from scalerl.errors import InputError
from scalerl.readers import read

ACC, REWARD = "val-core/openai/gsm8k/acc/mean@8", "val-aux/openai/gsm8k/reward/mean@8"


def step(number, value=None, seconds=90.0, gpus=8, **more):
    """A step of 80,000 tokens as verl's FileLogger writes it, with a validation where there is a value."""
    data = {"critic/score/mean": 0.1 * number, "timing_s/gen": 50.0, "timing_s/update_actor": 30.0}
    data |= {"timing_s/step": seconds, "perf/time_per_step": seconds, "perf/total_num_tokens": 80_000}
    data |= {"perf/throughput": 80_000 / (seconds * gpus)}
    return {"step": number, "data": data | ({} if value is None else {ACC: value}) | more}


def log(tmp_path, records, tail=""):
    path = tmp_path / "exp.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records) + tail)
    return path


START = {"step": 0, "data": {ACC: 0.2, REWARD: 0.1}}
RUN = [START, step(1), step(2, 0.4), step(3), step(4, 0.5)]


def test_gpu_hours_from_throughput(tmp_path):
    curve = read(log(tmp_path, RUN))
    assert (curve.name, curve.unit, curve.metric) == ("exp", "gpu_hours", "pass_rate")
    # 90 s x 8 GPUs / 3600 = 0.2 GPU-hours a step.
    assert curve.compute == pytest.approx([0, 0.4, 0.8])
    assert curve.value.tolist() == [0.2, 0.4, 0.5]
    assert curve.axes["tokens"].tolist() == [0, 160_000, 320_000]
    assert curve.axes["steps"].tolist() == [0, 2, 4]
    assert np.isnan(curve.num_samples).all()


def test_gpus_given_win_and_model_size_gives_flops(tmp_path):
    curve = read(log(tmp_path, RUN), gpus=16, model_size=1e9)
    assert curve.compute == pytest.approx([0, 0.8, 1.6])
    assert any("shows 8 GPUs; counted 16" in words for words in curve.warnings)
    # (6 + 2) x 1e9 parameters x 320,000 tokens.
    assert curve.axes["flops"][-1] == pytest.approx(2.56e15)


def test_axis_preference(tmp_path):
    bare = [{"step": r["step"], "data": {k: v for k, v in r["data"].items() if "throughput" not in k}} for r in RUN]
    assert read(log(tmp_path, bare)).unit == "tokens"
    assert read(log(tmp_path, bare), model_size=1e9).unit == "flops"
    assert read(log(tmp_path, bare), model_size=1e9, gpus=8).unit == "gpu_hours"
    only = [{"step": r["step"], "data": {k: v for k, v in r["data"].items() if "val-" in k}} for r in RUN]
    assert read(log(tmp_path, only)).unit == "steps"


def test_derived_axis_or_key_as_compute_column(tmp_path):
    assert read(log(tmp_path, RUN), compute_column="tokens").last_compute == 320_000
    assert read(log(tmp_path, RUN), compute_column="steps").unit == "steps"
    totals = [step(n, 0.1 * n, **{"my/total": 7.0 * n}) for n in (1, 2, 3)]
    assert read(log(tmp_path, totals), compute_column="my/total", unit="flops").compute.tolist() == [
        7,
        14,
        21,
    ]
    with pytest.raises(InputError, match="unit of 'my/total' is not known"):
        read(log(tmp_path, totals), compute_column="my/total")
    with pytest.raises(InputError, match="--model-size"):
        read(log(tmp_path, RUN), compute_column="flops")
    with pytest.raises(InputError, match="there are steps, gpu_hours, tokens"):
        read(log(tmp_path, RUN), compute_column="joules")


def test_unit_option_only_renames(tmp_path):
    curve = read(log(tmp_path, RUN), unit="flops")
    assert curve.unit == "flops" and curve.compute == pytest.approx([0, 0.4, 0.8])
    assert "gpu_hours" not in curve.axes and curve.axes["flops"] == pytest.approx([0, 0.4, 0.8])
    assert any("known to hold gpu_hours" in words for words in curve.warnings)


def test_testing_is_taken_out_where_the_step_holds_it(tmp_path):
    inside = [START, step(1), step(2, 0.4, 150.0, **{"timing_s/testing": 60.0}), step(3), step(4, 0.5)]
    outside = [START, step(1), step(2, 0.4, 90.0, **{"timing_s/testing": 60.0}), step(3), step(4, 0.5)]
    assert read(log(tmp_path, inside)).compute == pytest.approx([0, 0.4, 0.8])
    assert read(log(tmp_path, outside)).compute == pytest.approx([0, 0.4, 0.8])


def test_testing_that_cannot_be_told_apart_is_said(tmp_path):
    hidden = [START, step(1), step(2, 0.4, 150.0, **{"timing_s/testing": 60.0}), step(3), step(4, 0.5)]
    for record in hidden[1:]:
        del record["data"]["timing_s/gen"], record["data"]["timing_s/update_actor"]
    curve = read(log(tmp_path, hidden))
    assert curve.compute == pytest.approx([0, (90 + 150) * 8 / 3600, (3 * 90 + 150) * 8 / 3600])
    assert any("evaluation time could not be told" in words for words in curve.warnings)


def test_resume_counts_no_work_twice(tmp_path):
    redone = [step(2, 0.45, seconds=180.0), step(3), step(4, 0.55)]
    curve = read(log(tmp_path, [*RUN, *redone]))
    assert curve.value.tolist() == [0.2, 0.45, 0.55]
    assert curve.compute == pytest.approx([0, 0.6, 1.0])


def test_torn_line_is_left_out(tmp_path):
    curve = read(log(tmp_path, RUN, tail='{"step": 5, "data": {"timing_s/st'))
    assert len(curve) == 3 and "line 6 is no JSON object and is left out" in curve.warnings[0]


def test_gaps_are_filled_and_said(tmp_path):
    curve = read(log(tmp_path, [START, step(2, 0.4), step(4, 0.5)]))
    assert curve.compute == pytest.approx([0, 0.4, 0.8])
    assert any("logged for 2 of 4 steps" in words for words in curve.warnings)


def test_values_that_are_not_finite_are_left_out(tmp_path):
    curve = read(log(tmp_path, [*RUN, step(5, float("nan"))]))
    assert len(curve) == 3 and any("1 values" in words for words in curve.warnings)


def test_first_key_by_rule_and_the_others_listed(tmp_path):
    keys = {
        "val-core/a/reward/mean@8": 0.9,
        "val-core/b/acc/mean@8": 0.3,
        "val-core/c/acc/mean@8": 0.4,
        "val-core/c/acc/best@8/mean": 0.8,
    }
    records = [step(n, **keys) for n in (1, 2, 3)]
    curve = read(log(tmp_path, records))
    assert curve.value.tolist() == [0.3] * 3 and curve.metric == "pass_rate"
    words = curve.warnings[0]
    assert "--value-column can choose val-core/c/acc/mean@8, val-core/a/reward/mean@8" in words
    assert read(log(tmp_path, records), value_column="val-core/c/acc/best@8/mean").value.tolist() == [0.8] * 3
    assert read(log(tmp_path, records), task="/c/").value.tolist() == [0.4] * 3
    with pytest.raises(InputError, match="there are val-core/b/acc"):
        read(log(tmp_path, records), value_column="acc")
    with pytest.raises(InputError, match="no held-out key holds '/e/'"):
        read(log(tmp_path, records), task="/e/")


def test_mean_reward_is_no_pass_rate(tmp_path):
    records = [step(n, **{"val/test_score/math/lighteval": 0.1 * n}) for n in (1, 2, 3)]
    curve = read(log(tmp_path, records))
    assert curve.metric == "reward" and "is a mean reward" in curve.warnings[0]


def test_training_reward_where_nothing_was_held_out(tmp_path):
    curve = read(log(tmp_path, [step(n) for n in (1, 2, 3)]))
    assert curve.value == pytest.approx([0.1, 0.2, 0.3]) and curve.metric == "reward"
    assert "training rewards, not held-out" in curve.warnings[0]


def test_rewards_out_of_range_need_a_range(tmp_path):
    records = [step(n, **{"val-core/a/reward/mean@1": 1.0 - n}) for n in (1, 2, 3)]
    with pytest.raises(InputError, match=r"at step 2 is -1; expected 0 to 1, or give --range"):
        read(log(tmp_path, records))
    curve = read(log(tmp_path, records), value_range=(-3, 1))
    assert curve.value.tolist() == [0.75, 0.5, 0.25] and curve.metric == "reward"


def test_too_few_points(tmp_path):
    with pytest.raises(InputError, match="only 2 points"):
        read(log(tmp_path, RUN[:3]))


CONSOLE = """\
{'trainer': {'n_gpus_per_node': 8}}
Training Progress:   0%|
\x1b[36m(TaskRunner pid=12)\x1b[0m step:0 - val-core/openai/gsm8k/acc/mean@1:np.float64(0.2)
(TaskRunner pid=12) step:1 - perf/total_num_tokens:80000 - timing_s/step:90.000 - perf/throughput:111.111
(TaskRunner pid=12) step:2 - perf/total_num_tokens:80000 - timing_s/step:90.000 - perf/throughput:111.111\
 - val-core/openai/gsm8k/acc/mean@1:0.400 - critic/advantages/min:-1.500
step:3 - perf/total_num_tokens:80000 - timing_s/step:90.000 - perf/throughput:111.111\
 - val-core/openai/gsm8k/acc/mean@1:0.500 - actor/lr:0.0
"""


@pytest.mark.parametrize("name", ["train.log", "out.txt", "console"])
def test_console(tmp_path, name):
    path = tmp_path / name
    path.write_text(CONSOLE)
    curve = read(path)
    assert curve.value.tolist() == [0.2, 0.4, 0.5] and curve.compute == pytest.approx([0, 0.4, 0.6])


def test_console_cut_off_in_a_number(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(CONSOLE + "step:4 - actor/lr:0.0 - val-core/openai/gsm8k/acc/mean@1:0.")
    curve = read(path)
    assert len(curve) == 3 and "its last key is left out" in curve.warnings[0]


def test_wandb_history_of_a_verl_run(tmp_path):
    rows = [{"_step": r["step"], "_runtime": 9.5, "_timestamp": 1.7e9, **r["data"]} for r in RUN]
    curve = read(log(tmp_path, rows))
    assert curve.unit == "gpu_hours" and curve.compute == pytest.approx([0, 0.4, 0.8])


def test_wandb_history_as_csv(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(f"_step,{ACC},timing_s/step\n0,0.2,\n1,,60\n2,0.3,60\n3,,60\n4,0.4,60\n")
    curve = read(path, gpus=6)
    assert curve.compute == pytest.approx([0, 0.2, 0.4]) and curve.value.tolist() == [0.2, 0.3, 0.4]
