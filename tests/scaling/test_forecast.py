import numpy as np
import pytest
from made_curves import SIGMOID, TABLE_1, noiseless, noisy

from scalerl import Curve, InputError, fit, forecast


@pytest.mark.parametrize("name", TABLE_1)
def test_forecast_tends_to_the_ceiling_and_a_value_below_it_is_surely_reached(name):
    _, _, ceiling = TABLE_1[name]
    curve = noiseless(name)
    far = forecast(curve, at=[10 * curve.last_compute, 1e6 * curve.last_compute], reach=[ceiling - 0.02])
    near, end = far.points
    assert abs(end.value - ceiling) < 0.004 and abs(end.value - ceiling) <= abs(near.value - ceiling) + 0.002
    assert far.targets[0].probability > 0.99


def test_probability_to_reach_falls_from_one_to_zero_across_the_ceiling():
    targets = forecast(noisy(), reach=[0.4, 0.55, 0.61, 0.66, 0.8]).targets
    chances = [target.probability for target in targets]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == 1 and chances[1] > 0.99 and 0.05 < chances[2] < 0.95 and chances[4] < 0.01
    assert targets[4].compute is None and targets[4].high is None


def test_compute_for_a_value_inverts_the_law():
    curve = noiseless("ScaleRL")
    share = (0.5 - 0.3) / (0.61 - 0.3)
    by_hand = 2542 * (share / (1 - share)) ** (1 / 1.92)
    target = forecast(curve, reach=[0.5]).targets[0]
    assert target.compute == pytest.approx(by_hand, rel=0.01) and target.low < by_hand < target.high


def test_half_a_run_forecasts_the_rest_of_it():
    hits = []
    for seed in range(60):
        point = forecast(noisy(seed), until=6_000, at=[12_000]).points[0]
        hits.append(point.low <= SIGMOID(12_000, ceiling=0.61, rate=1.92, place=2542, start=0.3) <= point.high)
        assert point.extrapolation == 2
    assert np.mean(hits) >= 0.82


def test_band_widens_with_the_extrapolation_and_holds_one_evaluation_less_often_than_its_own_band():
    points = forecast(noisy(num_samples=300), until=4_000, at=[4_000, 8_000, 16_000]).points
    widths = [point.high - point.low for point in points]
    assert widths[0] < widths[1] < widths[2]
    assert all(p.evaluation_low <= p.low and p.high <= p.evaluation_high for p in points)


def test_wider_level_wider_band_and_factor_scales_it():
    half, most = (forecast(noisy(), at=[24_000], level=level).points[0] for level in (0.5, 0.95))
    assert most.low < half.low < half.high < most.high
    wide = forecast(fit(noisy()).recalibrated(2.0), at=[24_000]).points[0]
    plain = forecast(noisy(), at=[24_000]).points[0]
    assert wide.high - wide.low == pytest.approx(2 * (plain.high - plain.low), rel=0.02)


def test_warnings_say_what_not_to_believe():
    def words(curve, **options):
        return " | ".join(forecast(curve, **options).warnings)

    assert "this looks 8.3x as far as the fit; beyond 4x nothing was judged" in words(noisy(), at=[100_000])
    assert "nothing was judged" not in words(noisy(), at=[48_000])
    assert "no bend yet" in words(noisy(last=1500, num_points=15), at=[3_000])
    assert "the ceiling is not identified" in words(noisy(last=1500, num_points=15))
    assert "only 4 points" in words(noisy(num_points=3))
    falling = Curve.of(np.arange(20.0), np.r_[np.linspace(0.2, 0.6, 10), np.linspace(0.58, 0.3, 10)], unit="steps")
    assert "the curve falls: it ends 0.27" in words(falling) and "more seeds would tell" in words(falling)
    assert "too narrow" in words(noisy(), method="paper")
    assert "no evaluation at zero compute" in words(noisy().take(noisy().compute > 0))
    assert "noise is read off their scatter" in words(Curve.of(noisy().compute, noisy().value, unit="tokens"))
    truncated = noisy()
    from dataclasses import replace

    assert "15% of the answers are truncated" in words(replace(truncated, truncation=np.full(41, 0.15)))


def test_start_of_a_run_that_does_not_follow_the_law_is_named():
    curve = noisy(num_samples=16_000, num_points=80)
    bump = np.where((curve.compute > 0) & (curve.compute < 1500), 0.1, 0.0)
    bent = Curve.of(curve.compute, curve.value + bump, unit="gpu_hours", num_samples=16_000)
    assert "--from" in " | ".join(fit(bent).warnings)
    assert "--from" not in " | ".join(fit(curve).warnings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at": [0]}, "at compute 0 "),
        ({"at": [float("nan")]}, "at compute nan"),
        ({"reach": [1.2]}, "to reach is 1.2; expected a number between 0 and 1"),
        ({"at": [1], "level": 1.5}, "level is 1.5"),
        ({"at": [1], "law": "cubic"}, "law is 'cubic'; expected one of sigmoid, power, exponential, logistic"),
        ({"at": [1], "method": "guess"}, "method is 'guess'; expected one of posterior, paper, least-squares"),
        ({"at": [1], "until": 500}, "2 points to fit; expected at least 3"),
    ],
)
def test_questions_that_cannot_be_answered_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        forecast(noisy(), **options)
