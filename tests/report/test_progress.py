import io
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from made_steps import points
from rich.console import Console

from scalerl.errors import InputError
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.readers import read
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.sections import Log
from scalerl.recipe.writing import to_toml
from scalerl.report.progress import LiveDisplay, PlainLines, watchers_of
from scalerl.report.progress_facts import Facts
from scalerl.report.progress_plot import BAND, MIDDLE, POINT, plot
from scalerl.report.sinks import Sinks, sinks_of
from scalerl.run.directory import Run

METRICS = {
    "lag/mean": 1.25,
    "lag/max": 3.0,
    "truncation/share": 0.021,
    "speed/tokens_per_second": 12_345.6,
    "memory/peak_bytes": 1.5 * 2**30,
}
CURVE = points([0.2, 0.3, 0.38, 0.44, 0.48, 0.51])
FORECAST = LiveForecast(unit="flops", steps=100, every=10).after(CURVE)


class Clock:
    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def screen(width=100, *, is_terminal):
    return Console(
        file=io.StringIO(), width=width, height=40, force_terminal=is_terminal, highlight=False, markup=False
    )


def shown(renderable, width=100):
    out = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    out.print(renderable)
    return out.file.getvalue()


def watch(display, clock):
    """Fifty steps of two seconds each, an evaluation every ten, an alarm at the end."""
    display.evaluated(CURVE[:1], [], {})
    for step in range(1, 51):
        clock.seconds += 2.0
        display.step(step, METRICS)
        if step % 10 == 0:
            seen = CURVE[: step // 10 + 1]
            display.evaluated(seen[-1:], [FORECAST] if step == 50 else [], {})
    display.alarm("12% of the answers run out of budget")


def test_the_picture_says_where_the_run_stands():
    clock, out = Clock(), screen(is_terminal=True)
    display = LiveDisplay(Facts(steps=100, now=clock), out, name="demo")
    watch(display, clock)
    text = shown(display.picture())
    display.close()
    assert "step 50 of 100" in text and "1 min 40 s left" in text
    assert "lag 1.2 (max 3)" in text and "truncated 2.1%" in text
    assert "tokens/s 12,346" in text and "memory 1.50 GiB" in text
    assert "chain pass rate 0.510 (start 0.200)" in text
    end = FORECAST.end
    assert f"forecast {end.value:.3f} at step 100 (90%: {end.low:.2f}\N{EN DASH}{end.high:.2f})" in text
    assert "step 50: 12% of the answers run out of budget" in text
    assert text.count(POINT) == 6


def test_a_run_that_never_begins_leaves_the_terminal_alone():
    out = screen(is_terminal=True)
    LiveDisplay(Facts(steps=9, now=Clock()), out, name="demo").close()
    assert out.file.getvalue() == ""


def test_only_the_newest_alarms_stay():
    display = LiveDisplay(Facts(steps=9, now=Clock()), screen(is_terminal=True), name="demo")
    for number in range(5):
        display.alarm(f"alarm {number}")
    text = shown(display.picture())
    display.close()
    assert "alarm 1" not in text and all(f"alarm {number}" in text for number in (2, 3, 4))


def test_pictures_are_not_drawn_more_often_than_eyes_need():
    clock, out = Clock(), screen(is_terminal=True)
    display = LiveDisplay(Facts(steps=10_000, now=clock), out, name="demo")
    before = len(out.file.getvalue())
    for step in range(1, 1000):
        clock.seconds += 1e-4
        display.step(step, METRICS)
    assert len(out.file.getvalue()) == before
    clock.seconds += 1.0
    display.step(1000, METRICS)
    assert len(out.file.getvalue()) > before
    display.close()


def test_the_plot_puts_points_and_band_where_they_belong():
    text = plot(CURVE, FORECAST, steps=100, width=58, height=9).plain
    rows = text.split("\n")
    cells = [row[7:] for row in rows[:9]]
    assert all(len(row) == 51 for row in cells)
    columns = {row.find(POINT): at for at, row in enumerate(cells) if POINT in row}
    # 51 columns for 100 steps: an evaluation every ten steps is one every five columns. The start is the lowest.
    assert cells[8][0] == POINT and set(columns) <= {0, 5, 10, 15, 20, 25}
    is_band = [[cell in (BAND, MIDDLE) for cell in row] for row in cells]
    assert not any(row[column] for row in is_band for column in range(30))
    assert any(row[50] for row in is_band) and any(row[30] for row in is_band)
    assert cells[0][50] in (BAND, MIDDLE)  # the upper end of the band is the highest thing drawn
    assert rows[0].strip().startswith(f"{FORECAST.end.high:.2f}") and rows[-1].endswith("100")


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_single_point_can_be_drawn(value):
    text = plot(points([value]), None, steps=0, width=40, height=9).plain
    assert text.count(POINT) == 1


def test_plain_lines_have_no_control_characters():
    clock, out = Clock(), screen(width=40, is_terminal=False)
    display = PlainLines(Facts(steps=100, now=clock), out)
    watch(display, clock)
    display.close()
    written = out.file.getvalue()
    assert all(sign == "\n" or sign.isprintable() for sign in written)
    lines = written.splitlines()
    assert lines[0] == "step 0 of 100  chain pass rate 0.200"
    # One line in twenty of the run's steps, one an evaluation, one alarm.
    assert len([line for line in lines if "tokens/s" in line]) == 10
    assert len([line for line in lines if "pass rate" in line]) == 6
    assert lines[-1] == "ALARM at step 50: 12% of the answers run out of budget"
    assert lines[-2].startswith("step 50 of 100  chain pass rate 0.510 (start 0.200)  forecast 0.")
    assert lines[-3].endswith("1 min 40 s left")


def test_time_left_counts_from_where_this_session_began():
    clock = Clock()
    facts = Facts(steps=1000, now=clock)
    facts.stepped(901, METRICS)
    assert facts.seconds_left is None
    clock.seconds = 30.0
    facts.stepped(911, METRICS)
    assert facts.seconds_left == pytest.approx(3.0 * 89)


def begun(place, recipe):
    with Run.create(place, to_toml(recipe)) as run:
        for point in CURVE[:3]:
            run.append("evals.jsonl", asdict(point))


def test_a_resumed_run_shows_the_curve_so_far(tmp_path, capsys):
    recipe = Recipe(steps=100)
    begun(tmp_path / "run", recipe)
    display, sinks = watchers_of(recipe, tmp_path / "run")
    assert isinstance(display, PlainLines)  # captured output is no terminal
    display.evaluated(CURVE[3:4], [], {})
    sinks.evaluated(CURVE[3:4], [], {})
    assert "chain pass rate 0.440 (start 0.200)" in capsys.readouterr().out


def test_no_sink_is_the_default(tmp_path):
    sinks = sinks_of(Log(), tmp_path)
    sinks.log(1, METRICS)
    sinks.alarm("words")
    sinks.close()
    assert isinstance(sinks, Sinks) and not list(tmp_path.iterdir())


def test_event_files_can_be_read_back_as_a_curve(tmp_path):
    sinks = sinks_of(Log(tensorboard=True), tmp_path)
    for point in CURVE:
        sinks.step(point.step + 1, {"compute/gpu_hours": float(point.step), "lag/max": 2.0})
        sinks.evaluated([point], [], {"eval/chain/pass_rate": point.pass_rate})
    sinks.close()
    curve = read(tmp_path / "tensorboard", value_column="eval/chain/pass_rate", unit="steps")
    assert curve.value == pytest.approx([point.pass_rate for point in CURVE], abs=1e-6)
    ahead = read(tmp_path / "tensorboard", value_column="lag/max", unit="steps", value_range=(0, 2))
    assert np.array_equal(ahead.compute, [1, 11, 21, 31, 41, 51]) and set(ahead.value) == {1.0}


def test_weights_and_biases_works_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    sinks = sinks_of(Log(wandb="a-project"), tmp_path)
    run = wandb.run
    sinks.step(5, METRICS)
    sinks.step(4, METRICS)  # a resume logs steps again
    assert run.project == "a-project" and run.name == tmp_path.name
    assert run.summary["lag/mean"] == 1.25 and run.summary["step"] == 4
    sinks.close()
    assert wandb.run is None and list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    again = sinks_of(Log(wandb="a-project"), tmp_path)
    assert wandb.run.id == run.id
    again.close()


@pytest.mark.parametrize(("module", "log"), [("wandb", Log(wandb="x")), ("tensorboard", Log(tensorboard=True))])
def test_a_missing_package_is_named(tmp_path, monkeypatch, module, log):
    for name in [key for key in sys.modules if key.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"log.{module} is set, but .*scalerl\[{module}\]"):
        sinks_of(log, tmp_path)


def test_a_forecast_of_another_task_is_not_mixed_in():
    facts = Facts(steps=100, now=Clock())
    facts.evaluated([CURVE[0], replace(CURVE[0], task="other")], [replace(FORECAST, task="other")])
    assert set(facts.forecasts) == {"other"} and [len(row) for row in facts.points.values()] == [1, 1]
