import sys

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

from scalerl.errors import InputError
from scalerl.readers import read


def events(folder, steps, is_tensor=False):
    """Write {step: {tag: number}} as torch's writer does (simple values) or TensorBoard 2 (tensors)."""
    writer = EventFileWriter(str(folder))
    for step, scalars in steps.items():
        for tag, number in scalars.items():
            value = Summary.Value(tag=tag)
            if is_tensor:
                value.tensor.CopyFrom(make_tensor_proto(number, dtype=float))
            else:
                value.simple_value = number
            writer.add_event(Event(step=step, summary=Summary(value=[value])))
    writer.close()
    return folder


def nemo(step, accuracy=None, seconds=100.0):
    row = {"timing/train/total_step_time": seconds, "train/total_num_tokens": 4000.0, "train/reward": 0.5}
    row |= {"performance/tokens_per_sec": 40.0, "performance/tokens_per_sec_per_gpu": 10.0}
    return row if accuracy is None else row | {"validation/accuracy": accuracy}


NEMO = {
    0: {"validation/accuracy": 0.25, "timing/validation/total_validation_time": 50.0},
    1: nemo(1),
    2: nemo(2, 0.5, seconds=136.0) | {"timing/validation/total_validation_time": 36.0},
    3: nemo(3, 0.75, seconds=118.0) | {"timing/validation/total_validation_time": 18.0},
}


@pytest.mark.parametrize("is_tensor", [False, True])
def test_nemo_validation_time_is_taken_out(tmp_path, is_tensor):
    curve = read(events(tmp_path / "run", NEMO, is_tensor))
    assert (curve.name, curve.unit, curve.metric) == ("run", "gpu_hours", "reward")
    # 100 s of training a step, on 40 / 10 = 4 GPUs.
    assert curve.compute == pytest.approx([0, 800 / 3600, 1200 / 3600])
    assert curve.value.tolist() == [0.25, 0.5, 0.75] and curve.axes["tokens"].tolist() == [0, 8000, 12000]
    assert len(curve.warnings) == 2 and "is a mean reward" in curve.warnings[0]


def test_nemo_validation_time_that_is_not_logged_is_said(tmp_path):
    steps = {step: {k: v for k, v in row.items() if "total_validation" not in k} for step, row in NEMO.items()}
    curve = read(events(tmp_path, steps))
    assert curve.compute == pytest.approx([0, 944 / 3600, 1416 / 3600])
    assert any("evaluation time could not be told" in words for words in curve.warnings)


def test_openrlhf(tmp_path):
    steps = {
        step: {"train/timing/step_total": 36.0, "train/reward": 0.1, "train/policy_loss": 0.0}
        | {"eval/eval_math_pass1": 0.125 * step, "eval/eval_math_pass4": 0.9, "eval/eval_num_samples": 512.0}
        for step in (1, 2, 3)
    }
    curve = read(events(tmp_path, steps), gpus=100)
    assert curve.compute == pytest.approx([1, 2, 3]) and curve.value.tolist() == [0.125, 0.25, 0.375]
    assert curve.num_samples.tolist() == [512] * 3
    both = {step: row | {"eval/eval_code_pass1": 0.5} for step, row in steps.items()}
    curve = read(events(tmp_path / "both", both), value_column="eval/eval_math_pass1")
    assert curve.unit == "steps" and not (curve.num_samples > 0).any()


def test_skyrl(tmp_path):
    steps = {
        step: {"eval/all/avg_score": 0.25 * step, "eval/gsm8k/avg_score": 0.1, "timing/step": 36.0}
        | {"generate/avg_num_tokens": 200.0, "generate/batch_num_seq": 64.0, "timing/eval": 999.0}
        for step in (1, 2, 3)
    }
    curve = read(events(tmp_path, steps))
    assert curve.unit == "tokens" and curve.compute.tolist() == [12800, 25600, 38400]
    assert curve.value.tolist() == [0.25, 0.5, 0.75] and curve.metric == "reward"
    assert read(events(tmp_path / "b", steps), gpus=100).compute == pytest.approx([1, 2, 3])


def own(step, *, tasks=("chain",)):
    """What a run of this project logs; nothing of compute before the first step."""
    row = {"compute/tokens": 1000.0 * step, "compute/flops": 1e9 * step, "reward/pass_rate": 0.9} if step else {}
    for task in tasks:
        row |= {f"eval/{task}/pass_rate": 0.25 + 0.125 * step, f"eval/{task}/pass_rate_error": 0.01}
        row |= {f"eval/{task}/difficulty/{label}/pass_rate": 0.9 for label in (2, 3)}
    return row


def test_our_own_log_is_read_by_the_pass_rate_of_the_task(tmp_path):
    curve = read(events(tmp_path / "run", {step: own(step) for step in range(4)}))
    assert curve.value.tolist() == [0.25, 0.375, 0.5, 0.625] and curve.metric == "pass_rate"
    assert curve.unit == "tokens" and curve.compute.tolist() == [0, 1000, 2000, 3000]
    assert not any("difficulty" in words or "pass_rate_error" in words for words in curve.warnings)
    both = {step: own(step, tasks=("maths", "code")) for step in range(4)}
    [choice, _] = read(events(tmp_path / "both", both)).warnings
    assert choice == "read 'eval/code/pass_rate'; --value-column can choose eval/maths/pass_rate"


def test_a_pass_rate_comes_before_those_of_difficulties_in_any_log(tmp_path):
    steps = {step: {key: value for key, value in own(step).items() if "eval/" in key} for step in range(4)}
    assert "read 'eval/chain/pass_rate'" in read(events(tmp_path, steps)).warnings[0]


def test_the_file_that_was_picked_in_a_folder_is_named(tmp_path):
    [path] = events(tmp_path / "deep" / "er", NEMO).iterdir()
    assert read(tmp_path).warnings[-1] == f"read from deep/er/{path.name} of the folder"
    assert not any("folder" in words for words in read(path).warnings)


def test_resume_in_a_second_file_of_the_folder(tmp_path):
    events(tmp_path, NEMO)
    [old] = tmp_path.iterdir()
    old.rename(tmp_path / "events.out.tfevents.0000000001.host")
    events(tmp_path, {3: NEMO[3] | {"validation/accuracy": 1.0}})
    curve = read(tmp_path)
    assert curve.value.tolist() == [0.25, 0.5, 1.0] and curve.compute[-1] == pytest.approx(1200 / 3600)


def test_event_file_is_known_by_its_contents_and_may_be_torn(tmp_path):
    [path] = events(tmp_path, NEMO | {4: {"validation/accuracy": 0.8}}).iterdir()
    torn = tmp_path / "some.bin"
    torn.write_bytes(path.read_bytes()[:-5])
    curve = read(torn)
    assert len(curve) == 3 and any("torn" in words for words in curve.warnings)


def test_folder_of_several_runs(tmp_path):
    events(tmp_path / "a", NEMO)
    events(tmp_path / "b", NEMO)
    with pytest.raises(InputError, match="several runs, give one: a, b"):
        read(tmp_path)
    assert len(read(tmp_path / "a")) == 3


def test_tag_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there are validation/accuracy"):
        read(events(tmp_path, NEMO), value_column="validation/loss")


def test_missing_tensorboard_says_what_to_install(tmp_path, monkeypatch):
    events(tmp_path, NEMO)
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    with pytest.raises(InputError, match=r"pip install 'scalerl\[tensorboard\]'"):
        read(tmp_path)
