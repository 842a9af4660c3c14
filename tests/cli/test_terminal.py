"""What a person reads."""

import re

import pytest


def test_fit_says_where_the_run_ends(scalerl, noisy):
    out = scalerl("fit", noisy()).out
    assert re.match(r"run\.csv stands at 0\.\d{3} after 6,000 GPU-hours and heads for a ceiling of 0\.\d{3}", out)
    assert "Efficiency" in out and "Warnings" not in out


def test_warnings_come_with_their_reason(scalerl, noisy):
    out = scalerl("fit", noisy(last=500)).out
    assert "ceiling is not pinned" in out
    assert "Warnings\n  - " in out and "the ceiling is not identified: its 90% interval" in " ".join(out.split())


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "--windows"],
        ["forecast", "--reach", ".5", "--at", "1e4"],
        ["budget", "--reach", ".5", "--cost-per-unit", "2"],
        ["compare"],
        ["backtest"],
    ],
)
def test_nothing_is_wider_than_the_terminal(scalerl, noisy, command):
    result = scalerl(command[0], noisy("a.csv"), noisy("b.csv", seed=1), *command[1:])
    assert result.code == 0
    assert max(len(line) for line in result.out.splitlines()) <= 80


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["forecast"], "it should be at 0."),
        (["forecast", "--reach", "0.5"], "it reached 0.5 after 1,"),
        (["forecast", "--reach", "0.9"], "it should not reach 0.9 (it does with probability <1%)"),
        (["budget", "--reach", "0.5"], "By the gain alone, stop: another 600 GPU-hours buys"),
        (["budget", "--reach", "0.598", "--cost-per-unit", "2.5"], " (2.5 per GPU-hour)."),
        (["backtest", "--cuts", ".5"], "From the first 50% of 1 run the end was off by 0."),
    ],
)
def test_headlines(scalerl, noisy, command, words):
    assert words in " ".join(scalerl(command[0], noisy(), *command[1:]).out.split())


def test_comparison_names_the_better_one_first(scalerl, noisy):
    slow, fast = noisy("slow.csv", ceiling=0.5, seed=1), noisy("fast.csv")
    out = " ".join(scalerl("compare", slow, fast, "--at", "1e4").out.split())
    assert out.startswith("At 10,000 GPU-hours fast is better than slow with probability")
    assert "Their ceilings differ" in out


def test_backtest_without_enough_points_says_so(refused, noisy):
    assert "no run has 6 points before any of the cuts, and one after" in refused("backtest", noisy(num_points=5))


def test_a_falling_run_stands_where_it_is_and_has_not_reached_what_it_lost(scalerl, tmp_path):
    rows = [
        f"{100 * step},{value:.3f},1000"
        for step, value in enumerate([0.3, 0.5, 0.6, 0.6, 0.5, 0.4, 0.3, 0.26, 0.25])
    ]
    path = tmp_path / "fall.csv"
    path.write_text("# unit: steps\ncompute,value,n\n" + "\n".join(rows) + "\n")
    out = " ".join(scalerl("forecast", path, "--reach", ".55").out.split())
    assert out.startswith("The curve falls") and "fall.csv stands at 0.2" in out and "should not reach 0.55" in out


@pytest.mark.parametrize("command", ["fit", "forecast", "compare", "backtest"])
def test_figure_and_table(scalerl, noisy, tmp_path, command):
    runs = [noisy("a.csv"), noisy("b.csv", seed=1)] if command == "compare" else [noisy("a.csv")]
    for figure, table in (("out.png", "out.md"), ("out.svg", "out.csv")):
        result = scalerl(command, *runs, "--figure", tmp_path / figure, "--table", tmp_path / table, "--json")
        assert result.code == 0 and len(result.records) == 1
        assert f"wrote {tmp_path / figure}" in result.err
        assert (tmp_path / figure).stat().st_size > 1000 and (tmp_path / table).stat().st_size > 50


def test_a_figure_for_each_run(scalerl, noisy, tmp_path):
    scalerl("fit", noisy("a.csv"), noisy("b.csv"), "--figure", tmp_path / "out.svg")
    assert (tmp_path / "out.svg").is_file() and (tmp_path / "out-2.svg").is_file()


def test_report_is_one_page(scalerl, noisy, tmp_path):
    pytest.importorskip("scalerl.report.page")
    page = tmp_path / "report.html"
    result = scalerl("report", noisy("a.csv"), noisy("b.csv", seed=1), "-o", page)
    assert result.code == 0 and result.err == f"wrote {page}\n"
    assert "</html>" in page.read_text()
