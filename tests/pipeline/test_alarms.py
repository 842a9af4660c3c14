import json

import numpy as np
import pytest
from made_steps import points

from scalerl.pipeline.alarms import Alarms
from scalerl.pipeline.alarms_progress import progress
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.pipeline.sequential import Surprise

FINE = {
    "truncation/share": 0.01,
    "entropy/mean": 1.0,
    "drift/rms": 1e-6,
    "batch/is_flat": 0.0,
    "batch/rollouts": 32,
    "judge/error_share": 0.0,
}


def watched(*, steps, alarms=None, begin=1):
    """Names of the alarms at each step at which there was one."""
    alarms = alarms or Alarms(drift_tolerance=1e-3)
    told = {}
    for number, changes in enumerate(steps, start=begin):
        names = [alarm.name for alarm in alarms.after_step(number, FINE | changes)]
        if names:
            told[number] = names
    return told


def test_a_healthy_run_is_silent():
    assert watched(steps=[{}] * 200) == {}


def test_truncation_is_told_once_and_again_after_it_was_gone():
    high, between, low = ({"truncation/share": share} for share in (0.12, 0.08, 0.05))
    steps = [high] * 9 + [between] * 3 + [high] * 9 + [low] + [high] * 9
    assert watched(steps=steps) == {5: ["truncation"], 27: ["truncation"]}


def test_a_short_spike_of_truncation_is_no_alarm():
    high = {"truncation/share": 0.5}
    assert watched(steps=([high] * 4 + [{}]) * 5) == {}


def test_truncation_names_the_remedy():
    alarms = Alarms(drift_tolerance=1e-3)
    told = [one for step in range(5) for one in alarms.after_step(step, {"truncation/share": 0.123})]
    assert len(told) == 1 and told[0].text.startswith("12% of the answers run out of budget, above 10%")
    assert "length.think_tokens" in told[0].text and not told[0].stops_run


def test_entropy_is_held_against_its_own_start():
    low = {"entropy/mean": 0.09}
    assert watched(steps=[{}] * 5 + [low] * 12) == {15: ["entropy"]}
    assert watched(steps=[low] * 30) == {}
    assert watched(steps=[{}] * 5 + [{"entropy/mean": 0.12}] * 30) == {}


def test_drift_counts_only_steps_that_could_tell():
    drifting = [{"drift/rms": 2e-3}, {"drift/rms": None}, {"drift/rms": 2e-3}, {"drift/rms": 2e-3}]
    alarms, told = Alarms(drift_tolerance=1e-3), []
    for number, change in enumerate(drifting):
        metrics = {key: value for key, value in (FINE | change).items() if value is not None}
        told += [(number, one.name) for one in alarms.after_step(number, metrics)]
    assert told == [(3, "drift")]


def test_twenty_flat_steps_in_a_row_stop_the_run():
    flat = {"batch/is_flat": 1.0, "group/all_wrong_share": 1.0}
    assert watched(steps=[flat] * 19 + [{}] + [flat] * 19) == {}
    alarms = Alarms(drift_tolerance=1e-3)
    told = [one for step in range(1, 21) for one in alarms.after_step(step, FINE | flat)]
    assert [(one.step, one.name, one.stops_run) for one in told] == [(20, "flat", True)]
    assert "easier prompts" in told[0].text


def test_a_judge_that_fails_too_often_stops_the_run():
    alarms = Alarms(drift_tolerance=1e-3)
    assert not alarms.after_step(1, FINE | {"judge/error_share": 1.0})  # 32 rollouts are too few to tell
    told = alarms.after_step(2, FINE | {"judge/error_share": 0.5})
    assert [(one.name, one.stops_run) for one in told] == [("judge_errors", True)]
    assert told[0].text.startswith("The judge failed on 75% of the last 64 answers, above 20%")


def test_judge_errors_of_long_ago_are_forgotten():
    # 8 steps of 32 rollouts are the last 256: 51 errors are just below a fifth, 52 above.
    errors = {"judge/error_share": 51 / 32 / 2}
    assert watched(steps=[{}] * 8 + [errors] * 2 + [{}] * 20 + [errors] * 2) == {}
    errors = {"judge/error_share": 52 / 32 / 2}
    assert watched(steps=[{}] * 8 + [errors] * 2) == {10: ["judge_errors"]}


def after_each(values, alarms=None, **kwargs):
    """Alarms by the index of the evaluation, without forecasts."""
    alarms = alarms or Alarms(drift_tolerance=1e-3)
    curve = points(values, **kwargs)
    told = {}
    for number in range(1, len(curve) + 1):
        for one in alarms.after_evaluation(curve[:number]):
            told.setdefault(number - 1, []).append(one)
    return told


def test_a_run_that_never_rises_is_told_once():
    told = after_each([0.3] * 20, num_prompts=2000)
    assert [one.name for found in told.values() for one in found] == ["no_progress"]
    text = next(iter(told.values()))[0].text
    assert "has not risen since the start" in text and "optimizer.rate" in text


def test_all_wrong_groups_are_named_where_nothing_is_learned():
    alarms = Alarms(drift_tolerance=1e-3)
    alarms.after_step(1, FINE | {"group/all_wrong_share": 0.97})
    told = after_each([0.01] * 20, alarms)
    assert "97% of the groups are all wrong" in next(iter(told.values()))[0].text


def test_a_plateau_is_told_as_one_and_a_rise_is_not():
    rising = [0.3 + 0.02 * number for number in range(20)]
    assert after_each(rising, num_prompts=2000) == {}
    told = after_each(rising + [rising[-1]] * 40, num_prompts=2000)
    assert [one.name for found in told.values() for one in found] == ["no_progress"]
    (text,) = (one.text for found in told.values() for one in found)
    assert text.startswith(
        "No progress any more: the held-out pass rate of chain has stayed at 0.679 from step 180 to"
    )


def test_noise_too_large_to_tell_is_no_alarm():
    assert after_each([0.3] * 12, num_prompts=20) == {}


def test_progress_is_the_rise_of_a_straight_line():
    found = progress(points([0.3, *(0.3 + 0.01 * number for number in range(8))], num_prompts=10_000))
    assert found is not None
    # The last six of nine: from 0.32 to 0.37 over five intervals.
    assert found.rise == pytest.approx(0.05, abs=1e-4) and found.since == 30
    # Standard error of a rise over six even points of deviation s: s * 5 / sqrt(17.5), with 0.7 of the binomial.
    assert found.error == pytest.approx(5 / 17.5**0.5 * (0.7 * 0.345 * 0.655 / 40_000) ** 0.5, rel=0.02)
    assert found.is_some and not found.is_none


def test_a_collapse_is_off_its_forecast_and_says_what_was_forecast():
    rng = np.random.default_rng(1)
    level = [0.3 + 0.4 / (1 + (60 / max(step, 1e-9)) ** 1.8) for step in range(0, 200, 10)]
    level[14:] = [value - 0.12 for value in level[14:]]
    curve = points(rng.binomial(8192, level) / 8192, num_prompts=2048)
    live, alarms = LiveForecast(unit="flops", steps=400, every=10), Alarms(drift_tolerance=1e-3)
    told, forecasts = [], []
    for number in range(1, 18):
        seen = curve[:number]
        told += alarms.after_evaluation(seen, live.surprise(seen), forecasts)
        made = live.after(seen)
        forecasts += [] if made is None else [made]
    assert [(one.name, one.step) for one in told if one.name == "off_forecast"] == [("off_forecast", 150)]
    text = next(one.text for one in told if one.name == "off_forecast")
    assert "At step 100 its end was forecast at 0." in text and "lower optimizer.rate" in text


@pytest.mark.parametrize("num_tasks", [1, 3])
def test_several_tasks_share_the_five_percent(num_tasks):
    alarms, before = Alarms(drift_tolerance=1e-3, num_tasks=num_tasks), 0.0
    for _ in range(30):
        told = alarms.after_evaluation(points([0.3]), Surprise(rank=0.1, earlier_rank=0.1))
        if told:
            break
        before = alarms.evidence("chain")
    assert [one.name for one in told] == ["off_forecast"]
    assert before < 20 * num_tasks <= alarms.evidence("chain")


def test_a_resume_goes_on_where_alarms_stood():
    steps = [{"truncation/share": 0.2, "entropy/mean": 1.0 - 0.05 * number} for number in range(20)]
    steps = [one | {"judge/error_share": 0.004 * number} for number, one in enumerate(steps)]
    whole = watched(steps=steps)
    for cut in (1, 3, 4, 5, 12):
        first, second = Alarms(drift_tolerance=1e-3), Alarms(drift_tolerance=1e-3)
        told = watched(steps=steps[:cut], alarms=first)
        first.after_evaluation(points([0.3]), Surprise(rank=0.01, earlier_rank=0.02))
        second.restore(json.loads(json.dumps(first.state())))
        assert second.state() == first.state() and second.evidence("chain") == first.evidence("chain")
        told |= watched(steps=steps[cut:], alarms=second, begin=cut + 1)
        assert told == whole
