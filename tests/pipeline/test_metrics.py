import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_steps import group, points, rollout, update

from scalerl.compute import Ledger
from scalerl.pipeline.curriculum import Curriculum
from scalerl.pipeline.evaluation import Tally
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.pipeline.metrics import step_metrics
from scalerl.pipeline.metrics_cost import Reading, cost_metrics
from scalerl.pipeline.metrics_evaluation import evaluation_metrics
from scalerl.pipeline.metrics_recent import ClippedShare
from scalerl.pipeline.metrics_rollouts import rollout_metrics
from scalerl.pipeline.metrics_update import effective_size, update_metrics
from scalerl.recipe import sections

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"

MIXED = group(
    rollout(True, versions=(0, 0)),
    rollout(False, versions=(0, 0, 1, 1)),
    admission=0,
    difficulty="2",
)


def read(seconds, generated, trained=0):
    kinds = ("generation", "training", "evaluation", "idle", "redone")
    return Reading(
        seconds={"judging": 0.0, **dict(zip(kinds, seconds, strict=True))},
        num_generated_tokens=generated,
        num_trained_tokens=trained,
        flops=2.0 * generated,
        gpu_hours=(seconds[0] + seconds[1] + seconds[3]) / 3600,
    )


def test_rewards_lengths_and_endings_of_a_batch():
    groups = [
        group(rollout(True), rollout(False, versions=(0,) * 6), admission=0, difficulty="2"),
        group(
            rollout(True, is_interrupted=True),
            rollout(True, ending="truncated", versions=(0,) * 8),
            rollout(False, error="no answer"),
            rollout(True, is_interrupted=True),
            admission=1,
            difficulty="3/4",
        ),
        group(rollout(False), rollout(False), admission=2, task="other"),
    ]
    found = rollout_metrics(groups)
    # Judged: +1 -1 | +1 +1 +1 | -1 -1. The truncated one has a reward of +1 and yet has not passed.
    assert found["reward/mean"] == pytest.approx(1 / 7)
    assert found["reward/std"] == pytest.approx(math.sqrt(1 - 1 / 49))
    assert found["reward/pass_rate"] == pytest.approx(3 / 7)
    assert found["group/all_right_share"] == 0 and found["group/all_wrong_share"] == pytest.approx(1 / 3)
    assert found["truncation/share"] == 1 / 8 and found["judge/error_share"] == 1 / 8
    assert found["interruption/share"] == 2 / 8 and found["interruption/pass_rate"] == 1
    assert found["length/mean"] == (6 * 2 + 6 + 8) / 8 and found["length/max"] == 8
    assert found["length/right_mean"] == 2 and found["length/wrong_mean"] == (6 + 8 + 2 + 2) / 4
    assert found["task/chain/difficulty/2/pass_rate"] == 1 / 2
    assert found["task/chain/difficulty/3_4/pass_rate"] == 2 / 3
    assert found["task/chain/pass_rate"] == 3 / 5 and found["task/other/pass_rate"] == 0


def test_verdicts_are_counted_by_kind_where_a_task_tells_kinds():
    groups = [
        group(rollout(True, kind="passed"), rollout(False, kind="time"), rollout(False, kind="time"), admission=0),
        group(rollout(error="gone", kind="judge error"), rollout(False, kind="runtime error"), admission=1),
        group(rollout(True), rollout(False), rollout(error="no kinds here"), admission=2, task="other"),
    ]
    found = {key: value for key, value in rollout_metrics(groups).items() if key.startswith("verdict/")}
    assert found == {
        "verdict/passed": 1, "verdict/wrong": 0, "verdict/runtime_error": 1, "verdict/time": 2, "verdict/memory": 0,
        "verdict/output": 0, "verdict/forbidden": 0, "verdict/judge_error": 1,
    }  # fmt: skip
    assert not any(key.startswith("verdict/") for key in rollout_metrics(groups[2:]))
    own = [group(rollout(False, kind="too long/odd"))]
    assert [key for key in rollout_metrics(own) if key.startswith("verdict/")] == ["verdict/too_long_odd"]


def test_an_evaluation_counts_kinds_of_verdicts():
    tallies = [
        Tally.of(group(rollout(True, kind="passed"), rollout(False, kind="wrong"), admission=0)),
        Tally.of(
            group(rollout(False, kind="wrong"), rollout(True, ending="truncated", kind="passed"), admission=1)
        ),
    ]
    kinds = sum((one.verdict_kinds for one in tallies), Counter())
    found = evaluation_metrics(points([0.25], num_prompts=2)[0], verdict_kinds=kinds)
    # The truncated one passed its tests and yet has not passed: both numbers are right.
    assert found["eval/chain/verdict/passed"] == 2 and found["eval/chain/verdict/wrong"] == 2
    assert found["eval/chain/verdict/time"] == 0 and sum(one.num_passed for one in tallies) == 1


def test_what_is_not_known_is_absent():
    found = rollout_metrics([group(rollout(error="broken"), rollout(error="broken"))])
    assert found["judge/error_share"] == 1
    absent = {"reward/mean", "reward/std", "reward/pass_rate", "group/all_right_share", "interruption/pass_rate"}
    assert not absent & set(found) and "length/right_mean" not in found


def test_ratios_by_lag_and_divergence_from_the_sampling_policy():
    ratios = [1.0, 2.0, 1.0, 0.5, 4.0, 1.0]
    found = update_metrics(update([MIXED], np.log(ratios), version=1))
    # Lags are 1 1 | 1 1 0 0.
    assert found["lag/share_00"] == pytest.approx(2 / 6) and found["lag/share_01"] == pytest.approx(4 / 6)
    assert found["lag/mean"] == pytest.approx(4 / 6) and found["lag/max"] == 1
    assert found["ratio/max"] == pytest.approx(4) and found["ratio/p50"] == pytest.approx(1)
    assert found["ratio/lag_00/max"] == pytest.approx(4) and found["ratio/lag_00/p50"] == pytest.approx(2)
    assert found["ratio/lag_01/max"] == pytest.approx(2) and found["ratio/lag_01/p50"] == pytest.approx(1)
    assert found["ratio/effective_size"] == pytest.approx(9.5**2 / (3 * 1 + 4 + 0.25 + 16))
    assert found["ratio/log_rms"] == pytest.approx(np.sqrt((4 + 1 + 1) / 6) * np.log(2))
    assert found["kl/sampling_k1"] == pytest.approx(-math.log(4) / 6)
    assert found["kl/sampling_k3"] == pytest.approx(9.5 / 6 - 1 - math.log(4) / 6)


def test_both_tails_are_counted_apart():
    tails = {"is_low": np.array([1, 0, 0, 0, 0, 0], bool), "is_high": np.array([0, 1, 1, 0, 0, 0], bool)}
    found = update_metrics(update([MIXED], [0.0] * 6, version=1, **tails))
    assert found["loss/low_share"] == pytest.approx(1 / 6) and found["loss/high_share"] == pytest.approx(2 / 6)
    assert found["loss/capped_share"] == pytest.approx(3 / 6)


def test_drift_looks_only_at_rollouts_that_the_present_weights_sampled_whole():
    whole = group(rollout(True, versions=(1, 1)), rollout(False, versions=(0, 1)), admission=0)
    found = update_metrics(update([whole], [3e-3, -4e-3, 9.0, 9.0], version=1))
    # The last token has lag 0, but older weights wrote the keys and values before it.
    assert found["drift/rms"] == pytest.approx(math.sqrt((9e-6 + 16e-6) / 2), rel=1e-5)
    assert found["drift/max"] == pytest.approx(4e-3, rel=1e-5)
    assert "drift/rms" not in update_metrics(update([whole], [0.0] * 4, version=2))


def test_forced_tokens_keep_ratios_and_rollouts_in_step():
    forced = group(rollout(True, versions=(0, 0, 0), num_forced=2), rollout(False, versions=(1,)), admission=0)
    found = update_metrics(update([forced], [5.0, 0.25], version=1))
    assert found["drift/max"] == pytest.approx(0.25)


def test_ratios_without_bounds_leave_numbers():
    found = update_metrics(update([MIXED], [np.inf, 800.0, -800.0, 0.0, 0.0, np.nan], version=1))
    assert found["ratio/unusable_share"] == pytest.approx(2 / 6)
    assert all(math.isfinite(value) for value in found.values())
    assert found["ratio/effective_size"] == pytest.approx(1)


def test_a_flat_step_says_only_that():
    flat = group(rollout(True), rollout(True), admission=0)
    found = update_metrics(update([flat], []))
    assert found["batch/is_flat"] == 1 and found["batch/surviving_groups"] == 0
    assert not any(key.startswith(("loss/", "ratio/", "gradient/", "lag/", "entropy/", "kl/")) for key in found)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=50))
def test_effective_size_lies_between_one_and_all(log_weights):
    size = effective_size(np.array(log_weights))
    assert 1 - 1e-9 <= size <= len(log_weights) * (1 + 1e-9)
    assert effective_size(np.array(log_weights) + 300) == pytest.approx(size)


@given(st.lists(st.floats(-5, 5, width=32), min_size=6, max_size=6))
def test_the_k3_estimate_is_never_negative(log_ratio):
    assert update_metrics(update([MIXED], log_ratio, version=1))["kl/sampling_k3"] >= 0


def test_cost_is_the_difference_of_two_readings():
    found = cost_metrics(read((10, 5, 100, 1, 0), 1000, 50), read((14, 6, 160, 2, 3), 4000, 250))
    assert found["seconds/generation"] == 4 and found["seconds/charged"] == 6 and found["seconds/evaluation"] == 60
    assert found["speed/tokens_per_second"] == 500 and found["speed/generation"] == 750
    assert found["tokens/generated"] == 3000 and found["tokens/trained"] == 200
    assert found["compute/flops"] == 8000 and found["compute/gpu_hours"] == pytest.approx(22 / 3600)
    assert "speed/generation" not in cost_metrics(read((1, 0, 0, 0, 0), 5), read((1, 0, 0, 0, 0), 5))


def test_a_reading_of_the_ledger():
    ledger = Ledger(num_parameters=7, num_generated_tokens=3, num_trained_tokens=2)
    ledger.spend("idle", 36.0)
    ledger.spend("evaluation", 99.0)
    reading = Reading.of(ledger)
    assert reading.gpu_hours == pytest.approx(0.01) and reading.flops == 7 * (12 + 6)


def test_the_clipped_share_forgets_and_survives_a_resume():
    share = ClippedShare(window=4)
    told = [share.add(flag)["gradient/clipped_share"] for flag in (True, True, False, False, False)]
    assert told == pytest.approx([1, 1, 2 / 3, 1 / 2, 1 / 4])
    other = ClippedShare(window=4)
    other.restore(share.state())
    assert other.add(True) == share.add(True) == {"gradient/clipped_share": 1 / 4}


def everything():
    """Every key that a run can log."""
    groups = [
        group(
            rollout(True, versions=(1,) * 3),
            rollout(False, versions=(0, 1), is_interrupted=True, kind="runtime error"),
            difficulty="2",
        )
    ]
    prompts = [groups[0].prompt]
    curriculum = Curriculum(prompts, {"chain": 1}, sections.Curriculum(), 0)
    report = update(groups, [0.1] * 5, version=1)
    step = step_metrics(
        groups,
        report,
        before=read((0, 0, 0, 0, 0), 0),
        after=read((4, 1, 1, 1, 0), 100),
        curriculum=curriculum,
        tasks=["chain"],
        kl_to_start=0.01,
    )
    curve = points([0.2, 0.25, 0.3, 0.34])
    evaluation = evaluation_metrics(
        curve[-1],
        prompts=prompts,
        num_passed={prompts[0].id: 3},
        forecast=LiveForecast(unit="flops", steps=100, every=10).after(curve),
        evidence=1.5,
        verdict_kinds=groups[0].verdict_kinds,
    )
    return {**step, **ClippedShare().add(False), **evaluation}


def documented():
    keys = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text().split("## Alarms")[0], flags=re.MULTILINE)
    return [key for key in keys if not key.startswith("cluster/")]  # tests/driver has those


def test_the_page_and_the_code_name_the_same_keys():
    patterns = {key: re.compile(re.sub(r"<\w+>", "[^/]+", key)) for key in documented()}
    keys = everything()
    for key in keys:
        # `ratio/lag_01/p50` must not be taken for anything but its own row.
        assert sum(bool(pattern.fullmatch(key)) for pattern in patterns.values()) == 1, key
    for key, pattern in patterns.items():
        assert any(pattern.fullmatch(found) for found in keys), f"{key} is in the page but never logged"
    assert len(documented()) == len(set(documented()))


def test_pass_rates_by_difficulty_of_an_evaluation():
    prompts = [group(rollout(), admission=number, difficulty=label).prompt for number, label in enumerate("aab")]
    counts = {prompts[0].id: 1, prompts[1].id: 4, prompts[2].id: 2}
    point = points([0.5], num_prompts=3)[0]
    found = evaluation_metrics(point, prompts=prompts, num_passed=counts)
    assert found["eval/chain/difficulty/a/pass_rate"] == 5 / 8
    assert found["eval/chain/difficulty/b/pass_rate"] == 2 / 4
    assert found["eval/chain/pass_rate_error"] == pytest.approx(math.sqrt(0.25 / 12))
