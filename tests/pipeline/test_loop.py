"""Whole runs, small: what equals what, bit for bit, and that every choice of a recipe trains."""

import signal

import numpy as np
import pytest
import torch
from small_runs import evals, lines, recipe, resumed, same_weights, trained, weights

import scalerl
from scalerl.errors import InputError, StoppedError
from scalerl.pipeline.running import fork, resume, start
from scalerl.recipe.named import names
from scalerl.run.directory import Run
from scalerl.run.groups import read_groups
from scalerl.trainer.finite import NonFiniteError

LIMIT = ("length.kind=limit", "length.max_tokens=14")
HOT = ("sampling.temperature=1.7",)  # some answers then run out of their budget
AROUND = ("model.dtype=bfloat16", "off_policy.ahead=0")
SMALL_POOL = ("task.num_prompts=8", "batch.prompts=3", "curriculum.threshold=0.5", "steps=12")


def test_a_run_writes_a_directory_that_the_forecasting_half_reads(tmp_path):
    started = trained(tmp_path / "run", "steps=8", "evaluation.every=1")
    curve = scalerl.read(tmp_path / "run")
    assert curve.unit == "flops" and curve.step.tolist() == list(range(9)) and curve.counts is not None
    ledger = started.parts.ledger
    assert curve.compute[0] == 0 and curve.compute[-1] == ledger.flops
    points = lines(tmp_path / "run")
    assert set(points[0]) >= {
        "step", "gpu_hours", "flops", "tokens", "pass_rate", "num_prompts", "num_samples", "temperature", "task",
    }  # fmt: skip
    forecasts = lines(tmp_path / "run", "forecasts.jsonl")
    assert [one["made_at_step"] for one in forecasts] == [3, 4, 5, 6, 7]
    scores = lines(tmp_path / "run", "scores.jsonl")
    assert [(one["made_at_step"], one["horizon"], one["step"]) for one in scores if one["horizon"] == "end"] == [
        (made, "end", 8) for made in (3, 4, 5, 6, 7)
    ]
    assert [one["step"] for one in scores if one["horizon"] == "soon"] == [4, 5, 6, 7, 8]
    assert all(one["came"] == points[one["step"]]["pass_rate"] for one in scores)
    assert 0 < started.probe.rms < 1e-5


def test_flops_are_six_for_a_trained_and_two_for_a_generated_or_prefilled_token(tmp_path):
    started = trained(tmp_path / "run")
    ledger, metrics = (
        started.parts.ledger,
        [one for one in lines(tmp_path / "run", "metrics.jsonl") if "tokens/trained" in one],
    )
    num = sum(one.numel() for one in started.parts.policy.trainable().values())
    assert ledger.num_trained_tokens == sum(one["tokens/trained"] for one in metrics)
    assert ledger.num_generated_tokens == sum(one["tokens/generated"] for one in metrics)
    spent = 6 * ledger.num_trained_tokens + 2 * (ledger.num_generated_tokens + ledger.num_prefilled_tokens)
    assert lines(tmp_path / "run")[-1]["flops"] == num * spent
    assert ledger.num_evaluation_tokens > 0


def test_pipeline_with_no_lag_is_the_synchronous_loop_bit_for_bit(tmp_path):
    trained(tmp_path / "pipeline", "off_policy.k=0")
    trained(tmp_path / "phased", "off_policy.kind=phased", "off_policy.k=1")
    assert same_weights(tmp_path / "pipeline", tmp_path / "phased")
    assert evals(tmp_path / "pipeline") == evals(tmp_path / "phased")


def test_training_is_the_same_with_more_or_fewer_evaluations(tmp_path):
    trained(tmp_path / "often", "evaluation.every=1")
    trained(tmp_path / "seldom", "evaluation.every=4")
    assert same_weights(tmp_path / "often", tmp_path / "seldom")


@pytest.mark.parametrize("k", [1, 3])
def test_ahead_makes_a_lag_real_and_k_bounds_it(tmp_path, k):
    trained(tmp_path / "run", f"off_policy.k={k}", f"off_policy.ahead={k}", "steps=8")
    largest = [one["lag/max"] for one in lines(tmp_path / "run", "metrics.jsonl") if "lag/max" in one]
    assert max(largest) == k


def test_phased_with_k_has_lags_up_to_k_less_one(tmp_path):
    trained(tmp_path / "run", "off_policy.kind=phased", "off_policy.k=3", "steps=6")
    largest = [one["lag/max"] for one in lines(tmp_path / "run", "metrics.jsonl") if "lag/max" in one]
    assert largest == [0, 1, 2, 0, 1, 2]


def test_weights_change_under_sequences_in_flight(tmp_path):
    trained(tmp_path / "run", "steps=6", "engine.slots=16")
    files = sorted((tmp_path / "run" / "rollouts").glob("*.jsonl"))
    versions = [
        set(one.versions.tolist()) for path in files for group in read_groups(path) for one in group.rollouts
    ]
    assert any(len(seen) > 1 for seen in versions)


@pytest.mark.parametrize("name", names())
def test_every_named_recipe_trains_three_steps(tmp_path, name):
    trained(tmp_path / "run", "steps=3", name=name)
    before, after = (one["pass_rate"] for one in (lines(tmp_path / "run")[0], lines(tmp_path / "run")[-1]))
    assert 0 < before < 1 and 0 < after < 1
    start_of_it = trained(tmp_path / "start", "steps=0", name=name).parts.policy
    moved = [
        float((weights(tmp_path / "run")[f"master.{key}"] - one.detach()).abs().max())
        for key, one in start_of_it.trainable().items()
    ]
    assert min(moved) > 0


@pytest.mark.parametrize(
    "change",
    [
        ("loss.kind=cispo", "loss.cap=1.0"),
        ("loss.kind=dapo",),
        ("loss.kind=grpo",),
        ("loss.kind=gspo",),
        ("loss.kind=reinforce",),
        ("objective.advantage_scale=prompt",),
        ("objective.advantage_scale=none",),
        ("objective.averaging=sample",),
        ("objective.averaging=token",),
        ("objective.zero_variance=keep",),
        ("objective.truncated=keep", *HOT),
        ("objective.truncated=fail", *HOT),
        ("curriculum.no_positive_resampling=false", *SMALL_POOL),
        ("curriculum.history=last", *SMALL_POOL),
        ("reward=random",),
        ("reward=format",),
        ("off_policy.kind=phased", "off_policy.ahead=0"),
        ("sampling.temperature=0.7",),
        ("optimizer.micro_batch_tokens=64",),
        ("model.dtype=bfloat16",),
        ("model.fp32_head=false", "model.dtype=bfloat16"),
    ],
    ids=lambda change: change[0],
)
def test_every_choice_changes_what_is_learned(tmp_path, change):
    """Against the same run without it, so that a choice that is never looked at would show."""
    common = (
        "steps=6",
        "batch.prompts=8",
        "engine.slots=32",
        "optimizer.rate=3e-3",
        "off_policy.k=2",
        "off_policy.ahead=2",
    )
    setting = tuple(one for one in change[1:] if one in (*HOT, *SMALL_POOL, *AROUND))
    trained(tmp_path / "with", *common, *change)
    trained(tmp_path / "without", *common, *setting)
    one, other = weights(tmp_path / "with"), weights(tmp_path / "without")
    apart = max(float((one[key] - other[key]).abs().max()) for key in one if key.startswith("master."))
    split_only = change[0].startswith("optimizer.micro_batch_tokens")
    assert apart < 1e-3 if split_only else apart > 1e-6


@pytest.mark.parametrize(
    "length", [LIMIT, ("length.kind=penalty", "length.max_tokens=14", "length.margin_tokens=8")]
)
def test_budgets_without_interruption(tmp_path, length):
    trained(tmp_path / "run", length=length)
    groups = read_groups(max((tmp_path / "run" / "rollouts").glob("*.jsonl")))
    assert not any(one.is_interrupted for group in groups for one in group.rollouts)
    assert max(len(one.tokens) for group in groups for one in group.rollouts) <= 14
    right = [one for group in groups for one in group.rollouts if one.verdict.passed]
    is_penalised = [one.reward < 1 for one in right]
    assert any(is_penalised) == (length is not LIMIT)


def test_a_mixture_keeps_its_shares_and_has_a_curve_for_each_task(tmp_path):
    parts = (
        'task.parts=[{name="short", weight=1, task={kind="chain", steps=[2,3], num_prompts=20}},'
        ' {name="long", weight=3, task={kind="chain", steps=[4,6], num_prompts=20, seed=1}}]'
    )
    trained(tmp_path / "run", "task.kind=mixture", parts)
    assert {line["task"] for line in lines(tmp_path / "run")} == {"short", "long"}
    for path in (tmp_path / "run" / "rollouts").glob("*.jsonl"):
        tasks = [group.prompt.task for group in read_groups(path)]
        assert tasks.count("short") == 1 and tasks.count("long") == 3
    assert scalerl.read(tmp_path / "run", task="long").task == "long"


@pytest.mark.parametrize("calls", [5, 45])  # in the first evaluation, and in the middle of generating
def test_resume_extends_and_equals_a_run_that_was_never_stopped(tmp_path, calls):
    trained(tmp_path / "whole", "steps=6", "evaluation.every=2")
    seen = []

    def stop():
        seen.append(1)
        return len(seen) > calls

    started = start(recipe("steps=6"), tmp_path / "parts", lambda _: (), stop)
    with started:
        started.loop.run()
    assert (started.loop.step == 0) == (calls == 5) and started.loop.step < 6
    resumed(tmp_path / "parts", "steps=6")
    assert same_weights(tmp_path / "whole", tmp_path / "parts") and evals(tmp_path / "whole") == evals(
        tmp_path / "parts"
    )
    resumed(tmp_path / "parts", "steps=8")
    assert lines(tmp_path / "parts")[-1]["step"] == 8


def test_a_resume_under_another_recipe_is_refused_and_loses_nothing(tmp_path):
    trained(tmp_path / "run")
    before = {
        path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file() and path.name != "lock"
    }
    with pytest.raises(InputError, match=r"loss.cap: 5.0 -> 8.0.*--fork"):
        resumed(tmp_path / "run", "loss.cap=8")
    with pytest.raises(InputError, match="can only extend"):
        resumed(tmp_path / "run", "steps=2")
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_fork_begins_a_new_run_where_another_stands(tmp_path):
    trained(tmp_path / "parent")
    child = fork(
        recipe("steps=6", "loss.kind=dapo"), tmp_path / "parent", tmp_path / "child", lambda _: (), lambda: False
    )
    with child:
        assert child.loop.step == 4
        parent = weights(tmp_path / "parent")
        assert all(
            torch.equal(parent[f"master.{name}"], one) for name, one in child.parts.policy.trainable().items()
        )
        child.loop.run()
    assert [line["step"] for line in lines(tmp_path / "child")] == [4, 6]
    assert lines(tmp_path / "child")[0]["flops"] == lines(tmp_path / "parent")[-1]["flops"]


def test_a_gradient_that_is_no_number_stops_with_a_usable_checkpoint(tmp_path):
    started = start(recipe("steps=6"), tmp_path / "run", lambda _: (), lambda: False)
    policy = started.parts.policy
    log_probs = policy.log_probs

    def poisoned(hidden, targets, temperature):
        found, entropy = log_probs(hidden, targets, temperature)
        return found * (float("nan") if started.loop.step == 3 else 1.0), entropy

    policy.log_probs = poisoned
    before = {name: one.detach().clone() for name, one in started.parts.policy.trainable().items()}
    with started, pytest.raises(NonFiniteError, match="version 3"):
        started.loop.run()
    assert Run.read(tmp_path / "run").latest_checkpoint().step == 3
    kept = weights(tmp_path / "run")
    assert all(torch.isfinite(one).all() for one in kept.values())
    assert any(not torch.equal(kept[f"master.{name}"], one) for name, one in before.items())


JUDGED = """
from scalerl.records import Prompt, Verdict
class Odd:
    name = "odd"
    def prompts(self):
        return [Prompt(id=f"odd:{i}", task="odd", text=f"{i} ?", answer=0) for i in range(8)]
    def held_out(self, count):
        return [Prompt(id=f"odd:held-{i}", task="odd", text=f"{i} a ?", answer=0) for i in range(count)]
    def judge(self, prompt, answer):
        VERDICT
"""


def judged_by(tmp_path, verdict):
    """A run whose judge does one thing only."""
    (tmp_path / "odd.py").write_text(JUDGED.replace("VERDICT", verdict))
    chosen = recipe("steps=40", "task.kind=python", f"task.path={tmp_path / 'odd.py'}:Odd", "evaluation.every=40")
    return start(chosen, tmp_path / "run", lambda _: (), lambda: False)


def test_twenty_flat_steps_in_a_row_stop_the_run_with_the_reason(tmp_path):
    started = judged_by(tmp_path, "return Verdict(score=0.0, passed=False)")
    with started, pytest.raises(StoppedError, match="20"):
        started.loop.run()
    assert started.loop.step == 20 and Run.read(tmp_path / "run").latest_checkpoint().step == 20


def test_a_judge_that_keeps_failing_stops_the_run_with_the_reason(tmp_path):
    started = judged_by(tmp_path, "raise KeyError('gold')")
    with started, pytest.raises(StoppedError, match="judge"):
        started.loop.run()


def test_rewards_of_recorded_rollouts_follow_from_their_text(tmp_path):
    trained(tmp_path / "run")
    for path in (tmp_path / "run" / "rollouts").glob("*.jsonl"):
        for group in read_groups(path):
            for one in group.rollouts:
                answer = one.text.rpartition("</think>")[2].replace("<end>", "").strip()
                assert one.verdict.passed == (answer == str(group.prompt.answer["digit"]))
                assert one.reward == (1.0 if one.verdict.passed else -1.0)
                assert np.isfinite(one.behavior).all() and (one.behavior <= 1e-6).all()


def test_a_second_writer_is_kept_out(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    started = start(recipe(), tmp_path / "run", lambda _: (), lambda: False)
    with started, pytest.raises(InputError, match="is writing this run"):
        resume(recipe(), tmp_path / "run", lambda _: (), lambda: False)
    assert signal.getsignal(signal.SIGINT) is before


def test_what_ends_a_run_during_an_update_waits_until_the_step_is_told(tmp_path):
    """On a cluster generation goes on while others learn; its end must not tear a step that was made."""
    with start(recipe("steps=4"), tmp_path / "run", lambda _: [], lambda: False) as it:
        trainer, generator = it.parts.trainer, it.parts.generator
        update, advance = trainer.update, generator.advance

        def failing():
            raise StoppedError("no generator is left")

        def slow(groups, version, meanwhile):
            if version == 1:
                generator.advance = failing
                meanwhile()
                meanwhile()
                generator.advance = advance
            return update(groups, version)

        trainer.update = slow
        with pytest.raises(StoppedError, match="no generator is left"):
            it.loop.run()
        assert it.loop.step == generator.engine.version == 2
        it.loop.run()
    steps = [one["step"] for one in lines(tmp_path / "run", "metrics.jsonl") if "tokens/trained" in one]
    assert steps == [1, 2, 3, 4]
