"""The shapes that other programs read."""

import pytest

PARAMETERS = {
    "sigmoid": ["ceiling", "efficiency", "midpoint", "start"],
    "power": ["ceiling", "efficiency", "reference", "start"],
    "exponential": ["ceiling", "scale", "start"],
    "logistic": ["ceiling", "efficiency", "midpoint", "start"],
}


@pytest.mark.parametrize("law", PARAMETERS)
def test_fit(scalerl, noisy, law):
    path = noisy()
    result = scalerl("fit", path, "--law", law, "--json")
    [record] = result.records
    assert result.code == 0 and result.err == ""
    assert record.items() >= {"file": str(path), "law": law, "method": "posterior", "unit": "gpu_hours"}.items()
    assert record["num_points"] == (30 if law == "power" else 31)
    assert list(record["parameters"]) == PARAMETERS[law]
    for estimate in record["parameters"].values():
        assert set(estimate) == {"value", "low", "high"}
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert isinstance(record["identified"], bool) and isinstance(record["warnings"], list)


def test_fit_finds_the_ceiling(scalerl, noisy):
    [record] = scalerl("fit", noisy(), "--json").records
    assert record["identified"] is True
    assert record["parameters"]["ceiling"]["value"] == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("method", ["paper", "least-squares"])
def test_fit_by_other_methods(scalerl, noisy, method):
    [record] = scalerl("fit", noisy(), "--method", method, "--json").records
    assert record["method"] == method
    assert record["parameters"]["ceiling"]["value"] == pytest.approx(0.6, abs=0.02)


def test_windows(scalerl, noisy):
    [record] = scalerl("fit", noisy(), "--windows", "--json").records
    assert len(record["windows"]) == 12
    assert record["windows"][3]["parameters"]["ceiling"] == record["parameters"]["ceiling"]


def test_forecast(scalerl, noisy):
    path = noisy()
    [record] = scalerl(
        "forecast", path, "--at", "12_000,2.4e4", "--at", "9000", "--reach", ".5,.9", "--json"
    ).records
    assert record.items() >= {"file": str(path), "level": 0.9, "unit": "gpu_hours", "fitted_until": 6000}.items()
    assert [point["compute"] for point in record["points"]] == [12000, 24000, 9000]
    assert [point["extrapolation"] for point in record["points"]] == [2, 4, 1.5]
    for point in record["points"]:
        assert set(point) >= {"compute", "value", "low", "high", "extrapolation"}
        assert point["low"] < point["value"] < point["high"]
    reached, never = record["targets"]
    assert set(reached) == {"target", "compute", "low", "high", "probability"}
    assert reached["probability"] > 0.99 and 1000 < reached["compute"] < 2000
    assert never == {"target": 0.9, "compute": None, "low": None, "high": None, "probability": 0.0}


def test_forecast_looks_ahead_unless_asked(scalerl, noisy):
    [plain] = scalerl("forecast", noisy(), "--json").records
    assert [point["extrapolation"] for point in plain["points"]] == [1.5, 2, 4]
    [target] = scalerl("forecast", noisy(), "--reach", "0.5", "--json").records
    assert target["points"] == []


def test_level_widens(scalerl, noisy):
    narrow, wide = (
        scalerl("forecast", noisy(), "--at", "1e4", "--level", level, "--json").records[0]["points"][0]
        for level in (".5", ".95")
    )
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


def test_earlier_runs_set_the_bands(scalerl, noisy):
    late = noisy("late.csv")
    earlier = f"{noisy('one.csv', seed=1)},{noisy('two.csv', seed=2)}"
    [record] = scalerl(
        "forecast", late, "--earlier", earlier, "--earlier", noisy("3.csv", seed=3), "--json"
    ).records
    assert record["width_factor"] != 1
    assert "times, after 9 forecasts of earlier runs" in record["warnings"][-1]
    [costs] = scalerl("budget", late, "--reach", ".55", "--earlier", earlier, "--json").records
    assert "times, after 6 forecasts of earlier runs" in costs["warnings"][-1]


def test_compare(scalerl, noisy):
    fast, slow = noisy("fast.csv"), noisy("slow.csv", ceiling=0.5, midpoint=1500, seed=1)
    [record] = scalerl("compare", fast, slow, "--at", "1e4", "--json").records
    assert [recipe["name"] for recipe in record["recipes"]] == ["fast", "slow"]
    assert [recipe["files"] for recipe in record["recipes"]] == [[str(fast)], [str(slow)]]
    [pair] = record["pairs"]
    assert pair.items() >= {"first": "fast", "second": "slow", "unit": "gpu_hours", "at": 1e4}.items()
    assert pair["probability_better"] > 0.95 and pair["ceilings"] == "differ"
    assert pair["ratio"]["value"] < 1
    assert set(pair["crossing"]) == {"compute", "probability", "since", "until"}
    assert set(record["shared_ceiling"]["recipes"]) == {"fast", "slow"}


def test_budget(scalerl, noisy):
    path = noisy()
    [record] = scalerl(
        "budget", path, "--reach", "0.598", "--spend", "600", "--gain", "0.01", "--cost-per-unit", "2", "--json"
    ).records
    assert record["file"] == str(path) and record["target"]["target"] == 0.598
    assert record["spend"]["compute"] == 600 and record["spend"]["cost"] == 1200
    assert record["spend"]["advice"] == "stop"
    if record["remaining"] is not None:
        assert record["remaining_cost"] == pytest.approx(2 * record["remaining"])


def test_backtest(scalerl, noisy):
    runs = [noisy("a.csv"), noisy("b.csv", seed=1, num_points=9)]
    *each, record = scalerl("backtest", *runs, "--cuts", ".25,.5", "--cuts", ".75", "--json").records
    assert [one["file"] for one in each] == record["files"] == [str(run) for run in runs]
    assert {outcome["run"] for outcome in each[0]["outcomes"]} == {"a.csv"} and record["file"] is None
    assert {"run": "b.csv", "cut": 0.25} in record["skipped"]
    assert {score["method"] for score in record["scores"]} >= {"scalerl", "last value", "paper"}
    assert {outcome["cut"] for outcome in record["outcomes"]} == {0.25, 0.5, 0.75}
    assert set(record["outcomes"][0]) >= {"run", "method", "cut", "predicted", "low", "high", "actual"}


def test_one_line_a_file(scalerl, noisy):
    paths = [noisy(f"{name}/log.csv") for name in "abc"]
    result = scalerl("fit", *paths, "--json")
    assert [record["file"] for record in result.records] == [str(path) for path in paths]
    assert [record["name"] for record in result.records] == ["a/log.csv", "b/log.csv", "c/log.csv"]
    assert result.err == ""
