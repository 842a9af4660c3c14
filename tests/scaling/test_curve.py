from dataclasses import replace

import numpy as np
import pytest

from scalerl import Curve, InputError, PromptCounts


def curve(**parts):
    given = {"compute": [0, 1, 2, 4], "value": [0.1, 0.2, 0.3, 0.35], "unit": "steps", **parts}
    return Curve.of(given.pop("compute"), given.pop("value"), **given)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"compute": [0, 1, 1, 2]}, "must rise"),
        ({"compute": [0, 2, 1, 3]}, "must rise"),
        ({"compute": [-1, 0, 1, 2]}, "compute of point 1 is -1"),
        ({"compute": [0, 1, np.inf, 2]}, "compute of point 3 is inf"),
        ({"compute": [0, 1e-200, 1, 2]}, "compute of point 2 is 1e-200; expected 0, or a number from 1e-100 to 1e"),
        ({"compute": [0, 1e-40, 1, 2]}, "compute runs from 1e-40 to 2; expected at most a factor of 1e"),
        ({"value": [0.1, 1.2, 0.3, 0.4]}, "value of point 2 is 1.2; expected a number from 0 to 1"),
        ({"value": [0.1, np.nan, 0.3, 0.4]}, "value of point 2 is nan"),
        ({"num_samples": [1, 0, 1, 1]}, "num_samples of point 2 is 0"),
        ({"unit": "hours"}, "unit is 'hours'; expected one of gpu_hours, flops, tokens, steps"),
        ({"compute": [], "value": []}, "no points"),
        ({"value": [0.1, 0.2]}, "compute and value must be rows of equal length"),
    ],
)
def test_what_is_no_curve_is_refused_with_what_would_be_right(parts, words):
    with pytest.raises(InputError, match=words):
        curve(**parts)


def test_points_cannot_be_changed_after_the_fact():
    with pytest.raises(ValueError, match="read-only"):
        curve().value[0] = 0.5


def test_both_ends_of_a_window_belong_to_it_and_zero_compute_always_does():
    assert curve().between(since=2, until=4).compute.tolist() == [0, 2, 4]
    assert curve().between(until=2).compute.tolist() == [0, 1, 2]


def test_the_same_points_stand_against_every_axis_the_log_knew():
    tokens = np.array([0.0, 10, 30, 80])
    both = Curve(
        name="run",
        unit="steps",
        compute=np.arange(4.0),
        value=np.array([0.1, 0.2, 0.3, 0.35]),
        num_samples=np.full(4, np.nan),
        axes={"tokens": tokens},
    )
    assert both.against("tokens").compute.tolist() == tokens.tolist()
    assert both.against("tokens").against("steps").compute.tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match="not known in flops; known: steps, tokens"):
        both.against("flops")


def test_pooling_keeps_the_start_the_mean_and_the_samples():
    long = Curve.of(np.arange(1001.0), np.linspace(0, 0.5, 1001), unit="steps", num_samples=10)
    short = long.pooled(101)
    assert len(short) == 101 and short.compute[0] == 0 and short.num_samples.sum() == 10_010
    assert np.average(short.value, weights=short.num_samples) == pytest.approx(long.value.mean())
    assert short.compute[1] == pytest.approx(5.5) and long.pooled(2000) is long


def counts(passed, num_samples):
    passed = np.array(passed, dtype=float)
    prompts = tuple(str(number) for number in range(passed.shape[1]))
    return PromptCounts(prompts=prompts, num_passed=passed, num_samples=np.full(passed.shape, float(num_samples)))


@pytest.mark.parametrize("num_samples", [1, 4, 16])
def test_noise_of_counts_is_the_variance_of_their_mean(num_samples):
    rng, rates = np.random.default_rng(0), np.linspace(0.02, 0.98, 200)
    made = counts(rng.binomial(num_samples, rates, (60, 200)), num_samples)
    truth = (rates * (1 - rates)).sum() / num_samples / 200**2
    assert made.noise_variance() == pytest.approx(np.full(60, truth), rel=0.25)
    assert made.noise_variance().mean() == pytest.approx(truth, rel=0.15 if num_samples > 1 else 0.25)


def test_answers_that_happen_to_agree_do_not_pass_for_certainty():
    rng = np.random.default_rng(1)
    made = counts(rng.binomial(4, np.tile([0.01, 0.99], 16), (21, 32)), 4)
    truth = np.sqrt(0.01 * 0.99 / 4 / 32)
    assert (np.sqrt(made.noise_variance()) > truth / 2).all() and (np.sqrt(made.noise_variance()) < 3 * truth).all()


def test_counts_of_another_shape_or_without_answers_are_refused():
    plain = curve()
    with pytest.raises(InputError, match="counts must have 4 points by 2 prompts"):
        replace(plain, counts=counts(np.zeros((3, 2)), 4))
    with pytest.raises(InputError, match="without a single answer"):
        replace(plain, counts=counts(np.zeros((4, 2)), 0))
    with pytest.raises(InputError, match="tokens and value must be rows of equal length"):
        replace(plain, axes={"tokens": np.arange(3.0)})


def test_the_callers_numbers_stay_their_own():
    compute = np.arange(3.0)
    made = Curve.of(compute, [0.1, 0.2, 0.3], unit="steps")
    compute[0] = 5.0
    assert made.compute[0] == 0


def test_pooling_weighs_unknown_samples_as_usual_ones():
    half_known = Curve.of(np.arange(1.0, 9.0), [0.2, 0.6] * 4, unit="steps", num_samples=[np.nan, 1000] * 4).pooled(
        4
    )
    assert half_known.value == pytest.approx([0.4] * 4)
