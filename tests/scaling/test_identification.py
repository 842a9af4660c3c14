import re

import numpy as np
import pytest
from made_curves import noisy

from scalerl import Curve, fit


def test_ceiling_is_identified_late_in_a_run_and_not_early():
    early, late = fit(noisy(last=2_500, num_samples=16_000)), fit(noisy(last=12_000, num_samples=16_000))
    assert not early.is_identified and late.is_identified
    assert any("the ceiling is not identified" in words for words in early.warnings)
    assert not any("identified" in words for words in late.warnings)


def test_what_would_identify_it_does():
    """Runs as long as the advice says mostly have ceilings pinned to the margin."""
    longer = []
    for seed in range(12):
        needed = fit(noisy(seed, last=3_500, num_samples=16_000)).identification.needed_compute
        if needed is not None:
            run = noisy(seed, last=needed, num_points=round(40 * needed / 3_500), num_samples=16_000)
            longer.append(fit(run).parameters["ceiling"].half_width)
    assert len(longer) >= 8 and np.median(longer) < 0.022


def test_efficiency_and_midpoint_are_judged_apart():
    early = fit(noisy(last=2_500, num_samples=16_000)).identification
    late = fit(noisy(last=12_000, num_samples=16_000)).identification
    assert late.is_rate_identified and late.is_place_identified and not early.is_place_identified


def test_a_ceiling_that_was_imposed_is_not_identified():
    found = fit(noisy(), ceiling=0.6)
    assert found.parameters["ceiling"].value == 0.6 and not found.is_identified
    assert "the ceiling was imposed, not fitted" in found.warnings


def test_a_ceiling_at_the_edge_of_what_is_tried_is_not_identified_and_no_compute_is_said_to_help():
    low, high = noisy(ceiling=0.35, start=0.1, num_samples=16_000), np.linspace(0.5, 1.0, 30)
    found = fit(low, method="paper")
    assert found.parameters["ceiling"].value == 0.45 and not found.is_identified
    assert "the ceiling is not identified: it lies at 0.45, the edge of what the method tries" in found.warnings
    straight = fit(Curve.of(np.arange(30.0), high, unit="steps", num_samples=500), method="least-squares")
    assert straight.parameters["ceiling"].value == 1 and not straight.is_identified


@pytest.mark.parametrize("method", ["posterior", "paper", "least-squares"])
def test_words_never_hold_a_number_that_is_none(method):
    for seed in range(6):
        for last in (2_000, 6_000, 20_000):
            found = fit(noisy(seed, last=last, num_samples=16_000), method=method)
            assert not re.search(r"\bnan\b", " ".join(found.warnings))
            assert not any("flat priors" in words for words in found.warnings) or method == "posterior"
