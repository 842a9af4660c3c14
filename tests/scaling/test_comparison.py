from dataclasses import replace

import numpy as np
import pytest
from made_curves import noiseless, noisy

from scalerl import Curve, InputError, PromptCounts, compare


@pytest.mark.parametrize(("start", "expected"), [(0.2, 45_000), (0.3, 38_000), (0.4, 30_000)])
def test_large_batch_overtakes_small_batch_where_the_papers_parameters_say(start, expected):
    large, small = noiseless("ScaleRL-bs2048", start=start), noiseless("ScaleRL", start=start)
    pair = compare([large, small], at=100_000).pairs[0]
    assert pair.crossing.compute.value == pytest.approx(expected, rel=0.05)
    assert pair.crossing.compute.low < expected < pair.crossing.compute.high
    assert pair.crossing.probability > 0.9 and pair.probability_better > 0.85
    early = compare([large, small], at=4_000).pairs[0]
    assert early.probability_better < 0.05 and early.ratio.value > 2


def test_a_curve_against_itself_is_a_toss_up():
    result = compare([noisy(1), noisy(1)])
    pair = result.pairs[0]
    assert (pair.first, pair.second) == ("noisy", "noisy (2)")
    assert pair.probability_better == pytest.approx(0.5, abs=0.03)
    assert result.shared.probability_most_efficient["noisy"] == pytest.approx(0.5, abs=0.03)
    assert pair.ratio.low < 1 < pair.ratio.high
    assert pair.ceilings == "unresolved"


def test_two_single_runs_within_the_usual_spread_are_unresolved_and_many_seeds_settle_it():
    better = [noisy(seed, ceiling=0.66, num_samples=16_000) for seed in range(8)]
    worse = [noisy(seed + 100, ceiling=0.61, num_samples=16_000) for seed in range(8)]
    single = compare([noisy(0, ceiling=0.63, num_samples=16_000), worse[0]])
    assert single.pairs[0].ceilings == "unresolved"
    assert any("one run each" in words for words in single.warnings)
    many = compare([better, worse], names=["better", "worse"])
    assert many.pairs[0].ceilings == "differ" and many.pairs[0].probability_better > 0.99
    assert many.spread < 0.012  # eight seeds each that differ by noise alone say that runs differ little
    alike = compare([worse[:4], worse[4:]], names=["one", "other"], margin=0.04)
    assert alike.pairs[0].ceilings == "equivalent"


def test_twice_as_fast_is_a_ratio_of_a_half():
    slow = noisy(1, num_samples=16_000, midpoint=4_000, last=20_000)
    fast = noisy(2, num_samples=16_000, midpoint=2_000, last=20_000)
    pair = compare([fast, slow], at=8_000).pairs[0]
    assert pair.ratio.low < 0.5 < pair.ratio.high and pair.ratio_probability > 0.9


def test_shared_ceiling_ranks_efficiency_alone():
    steep = noisy(1, efficiency=2.4, num_samples=16_000)
    flat = noisy(2, efficiency=1.7, num_samples=16_000)
    shared = compare([steep, flat], names=["steep", "flat"]).shared
    assert shared.is_fair and shared.ceiling == pytest.approx(0.61, abs=0.01)
    assert shared.efficiency["steep"].value == pytest.approx(2.4, rel=0.1)
    assert shared.efficiency["flat"].value == pytest.approx(1.7, rel=0.1)
    assert shared.probability_most_efficient["steep"] > 0.8  # seeds alone could explain some of it
    far = compare([noisy(1), noisy(2, ceiling=0.8)], names=["low", "high"]).shared
    assert not far.is_fair
    assert compare([steep, flat], law="exponential").shared is None


def test_throughput_and_sample_efficiency_are_told_apart():
    """Equal progress a step, but one run takes half the hours: better on hours, level on steps."""
    steps = np.linspace(0, 1000, 41)

    def run(hours_a_step, seed):
        curve = noisy(seed, num_samples=16_000)
        return replace(curve, compute=steps * hours_a_step, axes={"steps": steps})

    result = compare([run(1.0, 1), run(2.0, 2)], names=["fast", "slow"])
    by_unit = {pair.unit: pair for pair in result.pairs}
    assert result.units == ("gpu_hours", "steps")
    assert by_unit["gpu_hours"].ratio.low < 0.5 < by_unit["gpu_hours"].ratio.high
    assert by_unit["steps"].ratio.low < 1 < by_unit["steps"].ratio.high
    with pytest.raises(InputError, match="no unit of compute that all runs have: a has flops; noisy has gpu_hours"):
        compare([Curve.of([1, 2, 3], [0.1, 0.2, 0.3], unit="flops", name="a"), noisy()])


def test_window_is_on_the_common_unit_whatever_each_run_was_read_in():
    curve = noisy(1)
    other = replace(noisy(2), unit="flops", compute=curve.compute * 1e15, axes={"gpu_hours": curve.compute})
    result = compare([curve, other], until=6_000, names=["a", "b"])
    assert [len(one.fits[0].fitted) for one in result.recipes] == [21, 21] and result.units == ("gpu_hours",)


@pytest.mark.parametrize("options", [{"at": 0.0}, {"at": float("nan")}, {"margin": -1.0}])
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match="expected a positive number"):
        compare([noisy(1), noisy(2)], **options)


def counted(seed, shift, prompts):
    """A run whose prompts are of very different difficulty, the same in every run."""
    rng = np.random.default_rng(seed)
    ease = np.linspace(0.05, 0.85, len(prompts)) + shift
    compute = np.linspace(0, 100, 9)
    passed = rng.binomial(16, np.clip(ease * np.linspace(0.5, 1, 9)[:, None], 0, 1)).astype(float)
    counts = PromptCounts(prompts=prompts, num_passed=passed, num_samples=np.full(passed.shape, 16.0))
    curve = Curve.of(compute, (passed / 16).mean(axis=1), unit="steps", num_samples=16 * len(prompts))
    return replace(curve, counts=counts, name=f"run{seed}")


def test_prompts_are_paired_where_both_runs_counted_them():
    prompts = tuple(f"p{number}" for number in range(200))
    pair = compare([counted(1, 0.06, prompts), counted(2, 0.0, prompts)]).pairs[0]
    assert pair.paired.num_prompts == 200 and pair.paired.difference.value == pytest.approx(0.06, abs=0.02)
    rates = [counted(seed, 0, prompts).counts for seed in (1, 2)]
    spread = np.sqrt(sum((c.num_passed[-1] / 16).var(ddof=1) / 200 for c in rates))
    assert pair.paired.difference.half_width < 0.7 * 1.645 * spread  # far better than without pairing
    assert pair.paired.probability_better > 0.99
    strangers = counted(2, 0.0, tuple(f"q{number}" for number in range(200)))
    assert compare([counted(1, 0.06, prompts), strangers]).pairs[0].paired is None


def test_three_recipes_give_three_pairs():
    result = compare([noisy(1), noisy(2), noisy(3)], names=["a", "b", "c"])
    assert [(pair.first, pair.second) for pair in result.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert sum(result.shared.probability_most_efficient.values()) == pytest.approx(1)
    with pytest.raises(InputError, match="1 recipes to compare"):
        compare([noisy()])


def test_curves_that_only_begin_alike_do_not_cross():
    low, high = (noisy(seed, ceiling=top, num_samples=16_000) for seed, top in ((1, 0.60), (2, 0.68)))
    assert compare([low, high], names=["low", "high"]).pairs[0].crossing.compute is None


def test_crossings_are_found_between_the_steps_they_are_looked_for_on():
    found = {
        compare([noiseless("ScaleRL-bs2048", start=start), noiseless("ScaleRL", start=start)])
        .pairs[0]
        .crossing.compute.value
        for start in (0.30, 0.301, 0.302)
    }
    assert len(found) == 3


def test_a_comparison_further_out_than_was_ever_judged_says_so():
    runs, names = [noisy(1), noisy(2, last=32_000)], ["short", "long"]
    far = "at 100,000 GPU-hours the forecast of short looks 8.3x as far as the fit; beyond 4x nothing was judged"
    assert [words for words in compare(runs, at=100_000, names=names).warnings if "judged" in words] == [far]
    assert not any("judged" in words for words in compare(runs, at=48_000, names=names).warnings)
    unequal = compare([noisy(1, last=2_000), noisy(2)], names=names).warnings
    assert any("at 12,000 GPU-hours the forecast of short looks 6x" in words for words in unequal)
