import numpy as np
import pytest
from example_runs import odd_runs, sigmoid_run

import scalerl
from scalerl.report.axes import ComputeAxis
from scalerl.report.calibration_figure import calibration_figure
from scalerl.report.comparison_figure import comparison_figure
from scalerl.report.efficiency_figure import caption, efficiency_figure
from scalerl.report.figure_files import inline_svg, save
from scalerl.report.forecast_figure import forecast_figure


def lines(figure, gid):
    return [line for axes in figure.axes for line in axes.get_lines() if line.get_gid() == gid]


@pytest.mark.parametrize("curve", odd_runs(), ids=lambda curve: curve.name)
def test_every_odd_curve_is_drawn(curve, tmp_path):
    fitted = scalerl.fit(curve, method="least-squares")
    save(forecast_figure(scalerl.forecast(fitted, at=[100 * curve.last_compute])), tmp_path / "forecast.svg")
    save(efficiency_figure(fitted), tmp_path / "efficiency.svg")
    assert (tmp_path / "forecast.svg").read_text().endswith("</svg>\n")


def test_the_solid_line_ends_and_hollow_points_begin_where_the_window_ends():
    curve = sigmoid_run(num_points=33)
    figure = forecast_figure(scalerl.forecast(curve, until=8000))
    (solid,), (dashed,), (hollow,) = (lines(figure, gid) for gid in ("fitted", "forecast", "came later"))
    assert solid.get_xdata()[-1] == pytest.approx(8000) == dashed.get_xdata()[0]
    assert dashed.get_linestyle() == "--" and solid.get_linestyle() == "-"
    assert hollow.get_markerfacecolor() == "none"
    np.testing.assert_array_equal(hollow.get_xdata(), curve.compute[curve.compute > 8000])
    np.testing.assert_array_equal(hollow.get_ydata(), curve.value[curve.compute > 8000])


def test_the_band_is_that_of_the_forecast():
    ahead = scalerl.forecast(sigmoid_run(), at=[32_000])
    band = forecast_figure(ahead).axes[0].collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], 32_000)][:, 1]
    assert at_end.min() == pytest.approx(ahead.points[0].low) and at_end.max() == pytest.approx(
        ahead.points[0].high
    )


def test_points_left_out_before_the_window_are_crosses_and_zero_has_a_place_of_its_own():
    figure = forecast_figure(scalerl.forecast(sigmoid_run(num_points=33), since=2000))
    (out,), (points,) = lines(figure, "left out"), lines(figure, "evaluations")
    assert out.get_xdata().tolist() == [500, 1000, 1500]
    first = points.get_xdata()[0]
    assert 0 < first < 500
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels[0] == "0" and "10,000" in labels
    assert figure.axes[0].get_xscale() == "log" and "GPU-hours" in figure.axes[0].get_xlabel()


def test_noise_bars_only_where_the_number_of_samples_is_known():
    partly = next(curve for curve in odd_runs() if curve.name == "partly")
    unknown = next(curve for curve in odd_runs() if curve.name == "flat")
    for curve, num_bars in ((partly, [12]), (unknown, [])):
        axes = forecast_figure(scalerl.forecast(curve, method="least-squares")).axes[0]
        bars = [part for part in axes.collections if part.get_gid() == "noise"]
        assert [len(part.get_segments()) for part in bars] == num_bars


def test_without_noise_the_efficiency_plot_is_a_line_of_that_slope():
    curve = sigmoid_run(noise=0, num_points=60)
    fitted = scalerl.fit(curve, method="least-squares")
    (points,) = lines(efficiency_figure(fitted), "evaluations")
    slope, offset = np.polyfit(np.log10(points.get_xdata()), points.get_ydata(), 1)
    assert slope == pytest.approx(1.92, rel=1e-3) and offset == pytest.approx(0, abs=1e-2)


def test_the_efficiency_plot_counts_what_it_leaves_out():
    curve = scalerl.Curve.of([0, 1, 2, 3, 4, 5, 6], [0.2, 0.1, 0.3, 0.5, 0.6, 0.58, 0.62], unit="steps")
    fitted = scalerl.fit(curve, method="least-squares")
    best = fitted.draws.best
    outside = ((curve.value <= best.start) | (curve.value >= best.ceiling))[1:].sum()
    assert outside > 0 and caption(fitted).startswith(f"{outside} of 6 points")
    (points,) = lines(efficiency_figure(fitted), "evaluations")
    assert len(points.get_xdata()) == 6 - outside


def test_the_efficiency_plot_is_refused_for_another_law():
    with pytest.raises(scalerl.InputError, match="'power'"):
        efficiency_figure(scalerl.fit(sigmoid_run(), law="power", method="least-squares"))


def test_a_comparison_shows_seeds_crossing_and_compute():
    one = [sigmoid_run(f"one {seed}", last=12_000) for seed in range(2)]
    other = sigmoid_run("_other", ceiling=0.66, efficiency=1.2, midpoint=5000)
    compared = scalerl.compare([one, other], at=20_000, names=["one", "_other"], method="least-squares")
    figure = comparison_figure(compared)
    assert len(lines(figure, "seed")) == 2 and len(lines(figure, "evaluations")) == 3
    assert lines(figure, "compared at")[0].get_xdata()[0] == 20_000
    crossing = compared.pairs[0].crossing.compute
    shown = [line.get_xdata()[0] for line in lines(figure, "crossing")]
    assert shown == ([crossing.value] if crossing and crossing.value <= 40_000 else [])
    assert [text.get_text().strip() for text in figure.axes[0].get_legend().get_texts()] == ["one", "_other"]


def test_many_recipes_have_a_legend_below_and_later_points_hollow():
    whole = [
        sigmoid_run(f"run {at}", ceiling=0.5 + 0.02 * at, num_points=17) for at in range(6)
    ]  # one more than fit inside
    compared = scalerl.compare(whole, until=8000, method="least-squares")
    figure = comparison_figure(compared, whole)
    assert len(figure.legends) == 1 and len(lines(figure, "came later")) == 6


def test_calibration_shows_each_cut():
    runs = [sigmoid_run(f"run {at}", ceiling=0.5 + 0.02 * at) for at in range(3)]
    tested = scalerl.backtest(runs, cuts=(0.5, 0.75), rivals={})
    figure = calibration_figure(tested)
    for score in tested.scores():
        (line,) = lines(figure, f"cut {score.cut:g}")
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == score.coverage
    empty = scalerl.backtest([odd_runs()[2]], rivals={})
    assert calibration_figure(empty).get_suptitle().startswith("No cut")


def test_ids_of_two_figures_do_not_meet_and_bytes_are_the_same_again():
    ahead = scalerl.forecast(sigmoid_run(), method="least-squares")
    one, again = (inline_svg(forecast_figure(ahead), "a") for _ in range(2))
    assert one == again
    ids = [
        {part.split('"')[0] for part in inline_svg(forecast_figure(ahead), name).split(' id="')[1:]}
        for name in "ab"
    ]
    assert ids[0] and not ids[0] & ids[1]
    assert all(name.startswith("a-") for name in ids[0])
    for reference in one.split("url(#")[1:]:
        assert reference.split(")")[0] in ids[0]


def test_a_figure_is_saved_whole_or_not_at_all(tmp_path):
    figure = forecast_figure(scalerl.forecast(sigmoid_run(), method="least-squares"))
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(scalerl.InputError, match=r"'.jpg'; expected one of .png, .svg"):
        save(figure, tmp_path / "a.jpg")
    with pytest.raises(scalerl.InputError, match="missing"):
        save(figure, tmp_path / "missing" / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(("first", "last"), [(1, 2), (270, 32_000), (1e17, 4e19), (0.003, 90_000), (1, 1e12)])
def test_ticks_are_round_and_stay_apart(first, last):
    axis = ComputeAxis.over([scalerl.Curve.of([first, last], [0, 1], unit="steps")], last)
    figure = forecast_figure(scalerl.forecast(sigmoid_run(), method="least-squares"))
    axis.put_on(figure.axes[0])
    ticks = figure.axes[0].get_xticks()
    assert len(ticks) >= 1 and all(first * 0.99 <= tick <= last * 1.01 for tick in ticks)
