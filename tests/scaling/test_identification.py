import numpy as np
import pytest
from made_curves import noisy

from scalerl import fit


def test_ceiling_is_identified_late_in_a_run_and_not_early():
    early, late = fit(noisy(last=2_500, num_samples=16_000)), fit(noisy(last=12_000, num_samples=16_000))
    assert not early.is_identified and late.is_identified
    assert any("the ceiling is not identified" in words for words in early.warnings)
    assert not any("identified" in words for words in late.warnings)


def test_what_would_identify_it_does():
    """Runs as long as the advice says have ceilings pinned to about the margin."""
    advice = [fit(noisy(seed, last=3_500, num_samples=16_000)).identification.needed_compute for seed in range(8)]
    needed = float(np.median([compute for compute in advice if compute is not None]))
    assert 4_000 < needed < 20_000
    widths = [
        fit(noisy(seed, last=needed, num_points=round(40 * needed / 3_500), num_samples=16_000)).parameters[
            "ceiling"
        ]
        for seed in range(8)
    ]
    assert np.median([width.half_width for width in widths]) < 0.03


def test_efficiency_and_midpoint_are_judged_apart():
    early = fit(noisy(last=2_500, num_samples=16_000)).identification
    late = fit(noisy(last=12_000, num_samples=16_000)).identification
    assert late.is_rate_identified and late.is_place_identified and not early.is_place_identified


def test_a_ceiling_that_was_imposed_is_not_identified():
    found = fit(noisy(), ceiling=0.6)
    assert found.parameters["ceiling"].value == 0.6 and not found.is_identified
    assert "the ceiling was imposed, not fitted" in found.warnings


@pytest.mark.parametrize("method", ["paper", "least-squares"])
def test_a_ceiling_at_the_edge_of_what_is_tried_is_not_identified(method):
    ceiling = 0.35 if method == "paper" else 0.999
    found = fit(noisy(ceiling=ceiling, start=0.1, num_samples=16_000), method=method)
    if found.parameters["ceiling"].value in found.draws.ceiling_bounds:
        assert not found.is_identified and any("edge" in words for words in found.warnings)
    assert method == "least-squares" or found.parameters["ceiling"].value == 0.45
