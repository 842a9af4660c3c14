from dataclasses import replace

import numpy as np
import pytest
from made_curves import SIGMOID, noiseless, noisy

from scalerl import InputError, budget


def test_cost_of_a_target_is_its_compute_times_the_price():
    plan = budget(noiseless("ScaleRL", multiple=2), reach=0.58, cost_per_unit=3.0)
    share = (0.58 - 0.3) / 0.31
    by_hand = 2542 * (share / (1 - share)) ** (1 / 1.92)
    assert plan.target.low < by_hand < plan.target.high
    assert plan.target.compute == pytest.approx(by_hand, rel=0.1)
    assert plan.remaining == pytest.approx(plan.target.compute - 2 * 2542)
    assert plan.cost(plan.remaining) == 3 * plan.remaining and plan.cost(None) is None
    assert budget(noisy(), reach=0.5).cost(1.0) is None
    assert budget(noisy(), reach=0.5).remaining == 0 and budget(noisy(), reach=0.8).remaining is None


def test_saturation_is_where_another_tenth_buys_less():
    def level(compute):
        return SIGMOID(compute, ceiling=0.61, rate=1.92, place=2542, start=0.3)

    compute = np.geomspace(2542, 50_000, 10_000)
    by_hand = compute[np.argmax(level(1.1 * compute) - level(compute) < 0.003)]
    low, middle, high = budget(noiseless("ScaleRL"), reach=0.5, gain=0.003).saturation
    assert middle == pytest.approx(by_hand, rel=0.05) and low <= middle <= high


def test_gain_of_more_compute_holds_the_wander_between_the_two():
    """The spread of a difference, against brute force over the process given the points."""
    from scalerl import fit
    from scalerl.scaling.wander import correlation

    found = fit(noisy(last=6_000, num_samples=2_000))
    strays, both = found.draws.strays, np.array([6_000.0, 9_000.0])
    which = 17
    points, scale = strays.compute, 1 / strays.unit
    noise_part = strays.factor[which] * np.linalg.inv(strays.basis.to @ strays.basis.to.T)
    whole = noise_part + strays.size[which] ** 2 * correlation(points, points)
    cross = strays.size[which] ** 2 * correlation(both * scale, points)
    left = strays.size[which] ** 2 * correlation(both * scale, both * scale) - cross @ np.linalg.solve(
        whole, cross.T
    )
    spread = np.sqrt(left[0, 0] + left[1, 1] - 2 * left[0, 1])
    lucky = strays.difference(*both)[which] - replace(strays, luck=0 * strays.luck).difference(*both)[which]
    assert lucky == pytest.approx(strays.luck[which] * spread, rel=1e-6)


def test_go_on_while_it_pays_and_stop_when_it_does_not():
    early = budget(noisy(last=2_500, num_samples=16_000), reach=0.55, spend=1_000, gain=0.02)
    assert early.spend.advice == "continue" and early.spend.probability_worth_it > 0.9
    late = budget(noisy(last=40_000, num_samples=16_000), reach=0.55, spend=1_000, gain=0.02)
    assert late.spend.advice == "stop" and late.spend.probability_worth_it < 0.1
    assert late.spend.gain.low <= late.spend.gain.value <= late.spend.gain.high


@pytest.mark.parametrize(
    "options", [{"gain": 0.0}, {"spend": -1.0}, {"cost_per_unit": float("nan")}, {"reach": 0.0}]
)
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match="expected a"):
        budget(noisy(), **{"reach": 0.5, **options})
