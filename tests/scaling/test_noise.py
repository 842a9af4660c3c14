import numpy as np
import pytest
from made_curves import noisy

from scalerl import Curve, fit, forecast
from scalerl.scaling.noise import noise, spikes


def test_noise_of_known_samples_is_binomial_at_the_smoothed_rate():
    flat = Curve.of(np.arange(9.0), np.full(9, 0.25), unit="steps", num_samples=[100] * 8 + [np.nan])
    assert noise(flat).variance == pytest.approx(np.full(9, 0.25 * 0.75 / 100), rel=0.02)


def test_noise_of_unknown_samples_is_read_off_the_scatter():
    rng = np.random.default_rng(0)
    rough = Curve.of(np.arange(400.0), np.linspace(0.2, 0.6, 400) + rng.normal(0, 0.01, 400), unit="steps")
    assert np.sqrt(noise(rough).variance[0]) == pytest.approx(0.01, rel=0.15)


def test_a_failed_evaluation_neither_moves_the_forecast_nor_goes_unsaid():
    curve = noisy(3)
    value = curve.value.copy()
    value[20] = 0.0
    failed = Curve.of(curve.compute, value, unit="gpu_hours", num_samples=4_000)
    (whole,), (broken,) = (forecast(run, at=[24_000]).points for run in (curve, failed))
    assert broken.value == pytest.approx(whole.value, abs=0.004)
    assert broken.high - broken.low < 1.2 * (whole.high - whole.low)
    assert any("count for little: at 6,000 GPU-hours" in words for words in fit(failed).warnings)


def test_steep_rises_level_shifts_and_the_last_points_are_no_spikes():
    small = np.full(7, 1e-8)
    for value in (
        [0, 0, 0.1, 0.5, 0.9, 1, 1],
        [0.1, 0.1, 0.1, 0.6, 0.6, 0.6, 0.6],
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0],
    ):
        assert not spikes(np.array(value, dtype=float), small).any()
