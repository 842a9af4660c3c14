import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ({"value": [0.1, 0.2]}, "equal length"),
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


@given(st.integers(1, 6), st.integers(2, 9))
def test_noise_of_counts_is_the_variance_of_their_mean(num_prompts, num_samples):
    rng = np.random.default_rng(num_prompts * 10 + num_samples)
    passed = rng.integers(0, num_samples + 1, (1, num_prompts)).astype(float)
    counts = PromptCounts(
        prompts=tuple(str(number) for number in range(num_prompts)),
        num_passed=passed,
        num_samples=np.full((1, num_prompts), float(num_samples)),
    )
    # The sample variance of 0/1 answers with k-1 in the divisor, over k answers, summed over prompts.
    answers = [[1.0] * int(p) + [0.0] * (num_samples - int(p)) for p in passed[0]]
    by_hand = sum(np.var(row, ddof=1) / num_samples for row in answers) / num_prompts**2
    assert counts.noise_variance()[0] == pytest.approx(by_hand, abs=1e-12)
