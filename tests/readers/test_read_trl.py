import json

import pytest

from scalerl.errors import InputError
from scalerl.readers import read


def train(step, tokens, seconds=2.0, **more):
    return {"step": step, "epoch": 0.1, "loss": 0.0, "reward": 0.5, "reward_std": 0.1} | {
        "num_tokens": tokens,
        "step_time": seconds,
        **more,
    }


def evaluation(step, reward, **more):
    return {"step": step, "epoch": 0.1, "eval_loss": 0.0, "eval_reward": reward, "eval_runtime": 60.0} | more


HISTORY = [
    evaluation(0, 0.1),
    train(10, 1000.0, seconds=2.0),
    train(20, 2000.0, seconds=4.0),
    evaluation(20, 0.2),
    train(30, 3000.0),
    evaluation(30, 0.3),
    {"step": 30, "train_runtime": 99.0, "total_flos": 0.0},
]


def state(folder, history=HISTORY, step=30, indent=2):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "trainer_state.json"
    path.write_text(json.dumps({"global_step": step, "log_history": history}, indent=indent))
    return path


def test_step_time_is_a_mean_over_the_steps_between_rows(tmp_path):
    curve = read(state(tmp_path / "run"), gpus=18)
    assert (curve.name, curve.unit, curve.metric) == ("run", "gpu_hours", "reward")
    # 10 steps x 2 s, then 10 x 4 s, then 10 x 2 s, on 18 GPUs.
    assert curve.compute == pytest.approx([0, 60 * 18 / 3600, 80 * 18 / 3600])
    assert "is a mean reward" in curve.warnings[0] and len(curve.warnings) == 1


def test_tokens_are_cumulative(tmp_path):
    curve = read(state(tmp_path, indent=None))
    assert curve.unit == "tokens" and curve.compute.tolist() == [0, 2000, 3000]
    assert read(state(tmp_path), model_size=1e6).last_compute == 8e6 * 3000


def test_evaluation_between_two_rows(tmp_path):
    history = [*HISTORY[:3], evaluation(15, 0.2), evaluation(20, 0.3), evaluation(25, 0.4)]
    curve = read(state(tmp_path, history), gpus=1)
    assert curve.compute * 3600 == pytest.approx([0, 40, 60, 80])
    assert curve.axes["tokens"].tolist() == [0, 1500, 2000, 2500]


def test_accuracy_function_before_the_sum_of_rewards(tmp_path):
    key = "eval_rewards/AccuracyReward/mean"
    history = [evaluation(n, 1.5, **{key: 0.1 * n, "eval_rewards/format/mean": 1.0}) for n in (1, 2, 3)]
    curve = read(state(tmp_path, history))
    assert curve.value == pytest.approx([0.1, 0.2, 0.3]) and curve.unit == "steps"
    assert any("eval_reward, eval_rewards/format/mean" in words for words in curve.warnings)
    with pytest.raises(InputError, match="--range"):
        read(state(tmp_path, history), value_column="eval_reward")
    assert read(state(tmp_path, history), value_column="eval_reward", value_range=(0, 2)).value[0] == 0.75


def test_training_reward(tmp_path):
    curve = read(state(tmp_path, [row for row in HISTORY if "eval_reward" not in row]))
    assert curve.value.tolist() == [0.5] * 3 and "not held-out" in curve.warnings[0]


def test_newest_checkpoint_of_an_output_directory(tmp_path):
    out = tmp_path / "out"
    state(out / "checkpoint-9", HISTORY[:1], step=9)
    state(out / "checkpoint-30")
    curve = read(out)
    assert (curve.name, len(curve)) == ("out", 3)
    state(out, [*HISTORY, evaluation(40, 0.4)], step=40)
    assert len(read(out)) == 4
    state(out, HISTORY[:1], step=10)
    assert len(read(out)) == 3


def test_wandb_history_with_its_own_step(tmp_path):
    rows = []
    for number, row in enumerate(HISTORY[:-1]):
        named = {f"eval/{k[5:]}" if k.startswith("eval_") else f"train/{k}": v for k, v in row.items()}
        del named["train/step"]
        rows.append({**named, "train/global_step": row["step"], "_step": number, "_runtime": 1.0})
    path = tmp_path / "history.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    curve = read(path)
    assert curve.axes["steps"].tolist() == [0, 20, 30] and curve.axes["tokens"].tolist() == [0, 2000, 3000]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "log_history": [', "was the file cut off?"),
        ('{"log_history": 3}', "no list 'log_history'"),
        ('{\n"a": 1\n}', "no list 'log_history'"),
        ('{"log_history": []}', "no held-out value"),
        ('{\n"a": ' + "[" * 5000, "is not JSON"),
        ("[\n1,\n2]", "is not a JSON object"),
    ],
)
def test_broken_states(tmp_path, text, words):
    path = tmp_path / "trainer_state.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert words in str(caught.value)
