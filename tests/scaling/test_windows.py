import pytest
from made_curves import noiseless

from scalerl import InputError, windows


def test_window_hardly_matters_on_the_papers_longest_run():
    """Appendix A.7 on its noiseless shape: every window finds ceiling 0.645 and efficiency 1.70."""
    curve = noiseless("ScaleRL-bs2048", multiple=100_000 / 10_909, num_points=74)
    found = windows(curve, starts=[0, 1_500, 5_000], ends=[50_000, 100_000])
    assert [(window.since, window.until) for window in found][:2] == [(0, 50_000), (0, 100_000)]
    for window in found:
        assert window.fit.parameters["ceiling"].value == pytest.approx(0.645, abs=0.004)
        assert window.fit.parameters["efficiency"].value == pytest.approx(1.70, abs=0.06)


def test_windows_without_enough_points_are_empty_and_backward_ones_left_out():
    found = windows(noiseless("ScaleRL", num_points=20), starts=[0, 9_000], ends=[1_000, 12_710])
    assert [(window.since, window.until, window.fit is None) for window in found] == [
        (0, 1_000, True),
        (0, 12_710, False),
        (9_000, 12_710, False),
    ]


def test_a_mistake_is_not_taken_for_an_empty_window():
    with pytest.raises(InputError, match="law is 'nope'"):
        windows(noiseless("ScaleRL"), law="nope")
