import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from calibration import cut_half_cauchy, cut_log_normal
from hypothesis import given
from hypothesis import strategies as st
from made_steps import points

import scalerl
from scalerl.pipeline.live_forecast import LiveForecast, compute_at, curve_of
from scalerl.pipeline.live_forecast_rank import predictive, predictive_after
from scalerl.pipeline.live_forecast_record import PROBABILITIES, Expected, FrozenForecast
from scalerl.pipeline.live_forecast_score import score
from scalerl.pipeline.sequential import THRESHOLD, Surprise, evidence
from scalerl.scaling.curve import PromptCounts
from scalerl.scaling.law import law
from scalerl.scaling.priors import LogNormal, Priors
from scalerl.scaling.scores import crps
from scalerl.scaling.wander import correlation

SIGMOID = law("sigmoid")
LIVE = LiveForecast(unit="flops", steps=400, every=10)


def risen(num, *, seed=0, num_prompts=512, **law_numbers):
    """So many evaluations every ten steps, drawn answer by answer."""
    numbers = {"ceiling": 0.75, "rate": 1.9, "place": 60.0, "start": 0.3} | law_numbers
    level = SIGMOID(10.0 * np.arange(num), **numbers)
    rng = np.random.default_rng(seed)
    return points(rng.binomial(4 * num_prompts, level) / (4 * num_prompts), num_prompts=num_prompts)


CURVE = risen(12)
FROZEN = LIVE.after(CURVE)


def test_the_first_evaluations_and_the_last_step_give_none():
    assert [LIVE.after(CURVE[:num]) is None for num in range(1, 6)] == [True, True, True, False, False]
    assert replace(LIVE, steps=110).after(CURVE) is None


def test_compute_that_does_not_rise_gives_none():
    assert replace(LIVE, unit="gpu_hours").after([replace(point, gpu_hours=0.0) for point in CURVE]) is None


def test_it_says_what_scalerl_forecast_says():
    assert FROZEN is not None
    curve = scalerl.Curve.of(
        [1e13 * number for number in range(12)],
        [point.pass_rate for point in CURVE],
        unit="flops",
        num_samples=2048,
    )
    said = scalerl.forecast(curve, at=[4e14])
    end, ceiling = said.points[0], said.fit.parameters["ceiling"]
    assert (FROZEN.end.step, FROZEN.end.compute) == (400, pytest.approx(4e14))
    assert (FROZEN.end.value, FROZEN.end.low, FROZEN.end.high) == pytest.approx((end.value, end.low, end.high))
    assert (FROZEN.ceiling, FROZEN.ceiling_low) == pytest.approx((ceiling.value, ceiling.low))
    assert FROZEN.is_ceiling_identified is said.fit.is_identified
    assert FROZEN.soon.step == 120 and FROZEN.made_at_step == 110 and FROZEN.num_points == 12
    assert set(said.warnings) <= set(FROZEN.warnings)


def test_the_end_lies_where_the_law_that_made_the_points_ends():
    frozen = LIVE.after(risen(30, num_prompts=4096))
    assert frozen is not None
    assert (
        frozen.end.low
        < SIGMOID(np.array([400.0]), ceiling=0.75, rate=1.9, place=60.0, start=0.3)[0]
        < frozen.end.high
    )
    assert frozen.end.evaluation_low <= frozen.end.low and frozen.end.high - frozen.end.low < 0.06


def test_later_steps_cost_what_the_last_third_did():
    spent = [0, 10, 20, 40, 60, 90, 120]  # a step costs 1, then 2, then 3
    curve = [replace(one, flops=float(flops)) for one, flops in zip(points([0.5] * 7), spent, strict=True)]
    # Step 40 is the last at or before two thirds of step 60.
    assert compute_at(curve, "flops", 100) == 120 + (120 - 60) / 20 * 40


def test_a_record_survives_json_and_is_plain():
    assert FROZEN is not None
    line = json.dumps(FROZEN.as_mapping())
    assert FrozenForecast.of_mapping(json.loads(line)) == FROZEN and len(line) < 4000


def test_the_same_points_give_the_same_record():
    assert LIVE.after(list(CURVE)) == FROZEN
    assert LIVE.surprise(CURVE) == LIVE.surprise(list(CURVE))


def test_ranks_and_quantiles_are_those_of_the_draws():
    fitted = scalerl.fit(curve_of(CURVE, "flops"))
    chances = predictive(fitted.draws, fitted.fitted)
    rng = np.random.default_rng(0)
    noise = np.sqrt(chances.noise_variance) * rng.standard_normal((50, len(fitted.draws)))
    made = (fitted.draws.levels([2e14])[:, 0] + noise).ravel()
    found = chances.quantiles(2e14, PROBABILITIES)
    assert found == pytest.approx(np.quantile(made, PROBABILITIES), abs=2e-3)
    assert [chances.rank(2e14, value) for value in found] == pytest.approx(PROBABILITIES)


def test_passes_of_each_prompt_tell_the_noise():
    # The same pass rates, once from prompts that are always or never passed, once from prompts at the mean.
    mean = np.array([[point.pass_rate] for point in CURVE])
    prompts = tuple(str(number) for number in range(512))
    asked = np.full((12, 512), 4.0)
    settled = np.where(np.arange(512) < np.round(512 * mean), 4.0, 0.0)
    even = np.broadcast_to(4 * mean, asked.shape)
    widths = []
    for passed in (settled, even):
        counts = PromptCounts(prompts=prompts, num_passed=passed, num_samples=asked)
        soon = LIVE.after(CURVE, counts).soon
        widths.append(soon.quantiles[-1] - soon.quantiles[0])
    assert widths[0] < 0.8 * widths[1]


def test_a_surprise_asks_the_forecasts_from_before():
    found = LIVE.surprise(CURVE)
    assert found is not None and LIVE.surprise(CURVE[:4]) is None and LIVE.surprise(CURVE[:5]) is not None
    curve = curve_of(CURVE, "flops")
    assert found.rank == predictive_after(curve_of(CURVE[:-1], "flops"), 11).rank(
        curve.last_compute, CURVE[-1].pass_rate
    )
    fallen = LIVE.surprise([*CURVE[:-1], replace(CURVE[-1], pass_rate=CURVE[-1].pass_rate - 0.1)])
    assert fallen is not None and fallen.rank < 1e-4 and fallen.earlier_rank < 1e-2


def expected(step, quantiles, **changes):
    numbers = {"value": 0.5, "low": 0.45, "high": 0.55, "evaluation_low": 0.4, "evaluation_high": 0.6}
    return Expected(step=step, compute=1.0, quantiles=tuple(quantiles), **{**numbers, **changes})


def test_outcomes_by_hand():
    assert FROZEN is not None
    quantiles = np.linspace(0.41, 0.59, 19)
    record = replace(FROZEN, soon=expected(20, quantiles), end=expected(400, quantiles), made_at_step=10)
    came = points([0.1, 0.2, 0.57])
    (outcome,) = score([record, replace(record, task="other")], came)
    assert (outcome.horizon, outcome.step, outcome.came) == ("soon", 20, 0.57)
    assert outcome.error == pytest.approx(0.07) and outcome.is_inside and not outcome.is_level_inside
    assert outcome.rank == pytest.approx(0.85)
    (outside,) = score(
        [replace(record, end=record.soon, soon=expected(999, quantiles))], [replace(came[2], pass_rate=0.7)]
    )
    assert (outside.horizon, outside.is_inside, outside.rank) == ("end", False, 1.0)


@pytest.mark.parametrize("curve", [CURVE, risen(6, seed=1, num_prompts=8), points([0.0] * 6, num_prompts=8)])
def test_an_evaluation_is_inside_exactly_where_its_rank_is(curve):
    frozen = LIVE.after(curve)
    assert frozen is not None
    for one in (frozen.soon, frozen.end):
        ends = (one.evaluation_low, one.evaluation_high)
        assert ends[0] <= one.low <= one.high <= ends[1] and sorted(one.quantiles) == list(one.quantiles)
        near = [end + off for end in ends for off in (-1e-3, -1e-9, 0.0, 1e-9, 1e-3)]
        came = [replace(curve[0], step=one.step, pass_rate=value) for value in near if 0 <= value <= 1]
        outcomes = [outcome for point in came for outcome in score([frozen], [point])]
        assert any(outcome.is_inside for outcome in outcomes)
        assert [outcome.is_inside for outcome in outcomes] == [0.05 <= one.rank <= 0.95 for one in outcomes]


@given(st.floats(0.2, 0.8))
def test_the_score_from_quantiles_is_nearly_that_of_all_draws(came):
    draws = np.random.default_rng(0).normal(0.5, 0.05, 20_000)
    record = replace(FROZEN, soon=expected(20, np.quantile(draws, PROBABILITIES)))
    (outcome,) = score([record], [replace(CURVE[2], pass_rate=came)])
    assert outcome.crps == pytest.approx(crps(draws, came), rel=0.12, abs=2e-3)


def largest(surprises):
    return max(evidence(surprises[: number + 1]) for number in range(len(surprises)))


def test_uniform_ranks_raise_an_alarm_in_at_most_one_of_twenty_runs():
    rng = np.random.default_rng(0)
    ranks = rng.uniform(size=(1000, 50, 2))
    runs = ([Surprise(rank=one, earlier_rank=other) for one, other in run] for run in ranks)
    assert 2 <= sum(largest(run) >= THRESHOLD for run in runs) <= 50


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 29))
def test_a_lower_evaluation_never_lowers_the_evidence(ranks, at):
    at %= len(ranks)
    lower = [rank / 2 if number == at else rank for number, rank in enumerate(ranks)]
    both = [[Surprise(rank=rank, earlier_rank=rank) for rank in row] for row in (ranks, lower)]
    assert 0 <= evidence(both[0]) <= evidence(both[1]) * (1 + 1e-9)


def test_capital_is_a_fair_bet():
    # The mean of the drift bets' capital over all ranks stays 1 but for the cut of the lowest; shocks need two.
    ranks = (np.arange(2000) + 0.5) / 2000
    one = np.mean([evidence([Surprise(rank=rank, earlier_rank=0.5)]) for rank in ranks])
    assert 0.99 < one <= 1.0


def test_one_failed_evaluation_alone_raises_nothing():
    usual, failed = Surprise(rank=0.5, earlier_rank=0.5), Surprise(rank=1e-9, earlier_rank=1e-9)
    run = [*[usual] * 10, failed, Surprise(rank=0.9, earlier_rank=0.5), *[usual] * 10]
    assert largest(run) < THRESHOLD
    assert evidence([*[usual] * 10, failed, Surprise(rank=0.5, earlier_rank=1e-3)]) >= THRESHOLD


def made_run(rng, num, *, size=None):
    """Levels and evaluations of a run as the model has them: law, wander, noise; parameters from the priors."""
    priors = Priors()
    compute = np.arange(num) / num
    start = rng.uniform()
    level = SIGMOID(
        compute,
        ceiling=start + (1 - start) * rng.beta(1, 1 + priors.headroom_power),
        rate=cut_log_normal(SIGMOID.rate_prior, 4.0, rng),
        place=cut_log_normal(priors.place, 2.8, rng),
        start=start,
    )
    size = cut_half_cauchy(priors.wander, rng) if size is None else size
    level = level + rng.multivariate_normal(np.zeros(num), size**2 * correlation(compute, compute), method="eigh")
    return np.clip(level, 0, 1)


def surprises(rng, level, first):
    factor = cut_log_normal(LogNormal(median=0.7, spread=0.25), 4.0, rng)
    noise = np.sqrt(factor * np.maximum(level * (1 - level), 1e-4) / 4096) * rng.standard_normal(len(level))
    curve = points(np.clip(level + noise, 0, 1), num_prompts=1024)
    found = [LIVE.surprise(curve[: number + 1]) for number in range(first, len(curve))]
    return [one for one in found if one is not None]


def test_runs_as_the_model_has_them_rarely_raise_an_alarm():
    found = []
    for seed in range(25):
        rng = np.random.default_rng([7, seed])
        found.append(surprises(rng, made_run(rng, 20), 4))
    ranks = np.array([one.rank for run in found for one in run])
    assert sum(largest(run) >= THRESHOLD for run in found) <= 2
    # Four standard errors of a share over 400 ranks.
    for share in (0.1, 0.5, 0.9):
        assert abs((ranks < share).mean() - share) < 4 * np.sqrt(share * (1 - share) / len(ranks))


def test_a_collapse_is_caught_in_two_evaluations_and_a_decline_in_a_few():
    for seed in range(4):
        rng = np.random.default_rng([8, seed])
        level = SIGMOID(np.arange(20) / 20, ceiling=0.75, rate=1.8, place=0.3, start=0.3)
        collapsed, declining = level.copy(), level.copy()
        collapsed[12:] -= 0.1
        declining[12:] -= 0.02 * np.arange(1, 9)
        assert evidence(surprises(rng, collapsed[:14], 8)) >= THRESHOLD
        assert largest(surprises(rng, declining, 8)) >= THRESHOLD


def test_no_torch_is_needed():
    code = "import scalerl.pipeline.metrics, scalerl.pipeline.alarms, scalerl.pipeline.live_forecast_score, sys"
    found = subprocess.run(
        [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"
