import numpy as np
import pytest
from made_curves import noisy

from scalerl import Curve, InputError, backtest, recalibration
from scalerl.scaling.backtest import Backtest, Outcome
from scalerl.scaling.baselines import damped_trend, last_value, local_level


def straight(num_points=20):
    return Curve.of(
        np.arange(1.0, num_points + 1), np.linspace(0.1, 0.1 + 0.02 * (num_points - 1), num_points), unit="steps"
    )


def test_rules_of_thumb_on_a_straight_line():
    line, ahead = straight(), np.array([21.0, 22.0, 1e9])
    assert last_value(line, ahead).tolist() == pytest.approx([0.48] * 3)
    assert local_level(line, ahead).tolist() == pytest.approx([0.48] * 3)
    # Slope 0.02 a step, damped by 0.8: 0.016, then 0.016 + 0.0128, in the end 0.02 * 0.8 / 0.2 = 0.08.
    assert damped_trend(line, ahead).tolist() == pytest.approx([0.496, 0.5088, 0.56])


def test_what_is_predicted_is_the_mean_of_the_last_fifth_of_the_hidden_points():
    outcome = backtest([straight()], cuts=[0.5]).of("last value")[0]
    assert outcome.actual == pytest.approx(np.mean([0.46, 0.48])) and outcome.predicted == pytest.approx(0.28)
    assert outcome.error == pytest.approx(0.19) and outcome.compute == 19.5


def test_runs_with_too_few_points_before_the_cut_are_skipped_and_named():
    result = backtest([straight(10)], cuts=[0.5, 0.7])
    assert result.skipped == (("curve", 0.5),) and {outcome.cut for outcome in result.outcomes} == {0.7}


def test_bare_numbers_get_the_spread_of_their_errors_on_other_groups():
    runs = [noisy(seed, name=f"run{seed}") for seed in range(8)]
    outcomes = backtest(runs, cuts=[0.5], groups=["a", "a", *"bcdefg"]).of("last value")
    first, second, *others = outcomes
    errors = sorted(
        [first.predicted - other.error for other in others] + [first.predicted + o.error for o in others]
    )
    assert sorted(first.draws.tolist()) == pytest.approx(errors) and len(second.draws) == 12
    alone = backtest(runs[:2], cuts=[0.5]).of("last value")[0]
    assert not alone.has_band and alone.crps == alone.error


def test_ours_beats_the_rules_of_thumb_on_sigmoids_and_covers():
    runs = [noisy(seed, midpoint=2542 * (1 + seed % 4), name=f"run{seed}") for seed in range(24)]
    scores = {score.method: score for score in backtest(runs, cuts=[0.35]).scores()}
    ours = scores.pop("scalerl")
    assert set(scores) == {"last value", "local level", "damped trend", "power law", "paper"}
    assert all(ours.crps < other.crps for other in scores.values())
    assert ours.coverage[0.9] > 0.8 and ours.coverage[0.5] < ours.coverage[0.8] <= ours.coverage[0.95]


def outcome(rank):
    return Outcome(
        run="r",
        group="g",
        method="scalerl",
        cut=0.5,
        compute=1.0,
        draws=np.linspace(0.0, 1.0, 1001),
        actual=rank,
        noise=1e-6,
    )


def test_recalibration_widens_bands_that_were_too_narrow_and_leaves_right_ones():
    even = Backtest(outcomes=tuple(outcome(r) for r in np.linspace(0.01, 0.99, 50)), skipped=())
    outside = Backtest(outcomes=tuple(outcome(r) for r in [0.001, 0.999] * 25), skipped=())
    central = Backtest(outcomes=tuple(outcome(r) for r in np.linspace(0.45, 0.55, 50)), skipped=())
    assert recalibration(even) == pytest.approx(1, abs=0.05)
    assert recalibration(outside) > 2 and recalibration(central) < 0.5
    assert recalibration(Backtest(outcomes=(), skipped=())) == 1


def test_noise_of_what_came_is_not_taken_for_a_band_that_is_too_narrow():
    """Levels all right, evaluations of a hundred answers: the ranks reckon with their noise."""
    rng = np.random.default_rng(0)
    draws = 0.5 + 0.005 * rng.standard_normal(500)
    made = [
        Outcome(
            run="r",
            group="g",
            method="scalerl",
            cut=0.5,
            compute=1.0,
            draws=draws,
            actual=0.5 + 0.005 * rng.standard_normal() + 0.05 * rng.standard_normal(),
            noise=0.05,
        )
        for _ in range(200)
    ]
    assert recalibration(Backtest(outcomes=tuple(made), skipped=())) == pytest.approx(1, abs=0.1)


def test_clustered_error_by_hand():
    """Two groups of two, one covered both times, one never: coverage 1/2, sums +1 and -1, error sqrt(2 * 2) / 4."""
    ranks = {"a": (0.5, 0.5), "b": (0.0, 1.0)}
    outcomes = tuple(
        Outcome(
            run="r",
            group=g,
            method="m",
            cut=0.5,
            compute=1.0,
            draws=np.linspace(0.4, 0.6, 101),
            actual=rank,
            noise=1e-6,
        )
        for g, two in ranks.items()
        for rank in two
    )
    score = Backtest(outcomes=outcomes, skipped=()).scores()[0]
    assert score.coverage[0.9] == 0.5 and score.coverage_error == pytest.approx(0.5)


def test_a_cut_outside_of_the_run_is_refused():
    with pytest.raises(InputError, match=r"a cut is 1.5; expected a share"):
        backtest([noisy()], cuts=[1.5])
