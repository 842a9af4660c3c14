"""What the options that read and cut a run do."""

import json
import re
from dataclasses import asdict, replace

import pytest
from made_steps import points

from scalerl.cli.run_report import write_run_report
from scalerl.pipeline.live_forecast import LiveForecast
from scalerl.scaling.number_text import interval_text


@pytest.mark.parametrize("num_points", [3, 4, 5])
def test_few_points_give_a_result_with_a_warning(scalerl, noisy, num_points):
    result = scalerl("fit", noisy(num_points=num_points), "--json")
    assert result.code == 0
    assert f"only {num_points} points: the priors decide most of this" in result.records[0]["warnings"]


def test_until_is_inclusive(scalerl, noisy):
    path = noisy()  # a point each 200 GPU-hours
    counts = [
        scalerl("fit", path, "--until", until, "--json").records[0]["num_points"] for until in ("2000", "1999")
    ]
    assert counts == [11, 10]


def test_from_keeps_the_start(scalerl, noisy):
    [record] = scalerl("fit", noisy(), "--from", "2000", "--json").records
    assert record["num_points"] == 22  # 2000 to 6000, and zero


def test_unit_overrides_with_a_warning(scalerl, noisy):
    [record] = scalerl("fit", noisy(), "--unit", "tokens", "--json").records
    assert record["unit"] == "tokens"
    assert any("because of --unit" in words for words in record["warnings"])


def test_unit_names_a_bare_column_without_a_warning(scalerl, noisy):
    [record] = scalerl("fit", noisy(header=""), "--unit", "flops", "--json").records
    assert record["unit"] == "flops" and not any("unit" in words for words in record["warnings"])


@pytest.mark.parametrize("words", [["--range", "-1,1"], ["--range=-1,1"]])
def test_range_may_be_negative(scalerl, noisy, words):
    [record] = scalerl("fit", noisy(), *words, "--json").records
    assert record["parameters"]["ceiling"]["value"] == pytest.approx(0.8, abs=0.01)


def test_merge_keeps_the_last_row(scalerl, table):
    path = table("0,0.2", "100,0.3", "100,0.31", "200,0.38", "300,0.42")
    [record] = scalerl("fit", path, "--merge", "--json").records
    assert record["num_points"] == 4


def test_a_run_with_tasks_gives_one_curve_each(scalerl, mixture):
    run = mixture("run", 0.6)
    assert [record["task"] for record in scalerl("fit", run, "--json").records] == ["maths", "code"]
    [one] = scalerl("fit", run, "--task", "code", "--json").records
    assert one["parameters"]["ceiling"]["value"] == pytest.approx(0.5, abs=0.03)


def test_compare_matches_tasks_by_name(scalerl, mixture):
    records = scalerl("compare", mixture("a", 0.6), mixture("b", 0.5), "--json").records
    assert [record["task"] for record in records] == ["maths", "code"]
    assert all(record["pairs"][0]["probability_better"] > 0.9 for record in records)
    assert all([recipe["name"] for recipe in record["recipes"]] == ["a", "b"] for record in records)


def test_compare_tells_each_task_apart_for_people(scalerl, mixture):
    out = scalerl("compare", mixture("a", 0.6), mixture("b", 0.5)).out
    assert "maths: At 2,900 GPU-hours a is better than b" in out
    assert "code: At 2,900 GPU-hours a is better than b" in out


def test_a_report_has_a_card_for_each_task_and_compares_within_tasks(scalerl, mixture, tmp_path):
    scalerl("report", mixture("a", 0.6), mixture("b", 0.5), "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert [title for title in titles if "[" in title] == ["a [maths]", "a [code]", "b [maths]", "b [code]"]
    assert [title for title in titles if " on " in title] == [
        "Which recipe is better on maths", "Which recipe is better on code",
    ]  # fmt: skip
    assert "Forecasts of 4 curves" in page


def test_compare_refuses_tasks_that_do_not_match(refused, mixture, noisy):
    said = refused("compare", mixture("a", 0.6), noisy())
    assert "no task that all runs have" in said and "has maths, code" in said


def test_seeds_of_a_recipe_are_joined_by_commas(scalerl, noisy):
    seeds = ",".join(str(noisy(f"a{seed}.csv", seed=seed)) for seed in (1, 2))
    [record] = scalerl("compare", seeds, noisy("b.csv", ceiling=0.5, seed=3), "--json").records
    assert [recipe["name"] for recipe in record["recipes"]] == ["a1+a2", "b"]
    assert len(record["recipes"][0]["fits"]) == 2


def test_a_file_may_have_a_comma_in_its_name(scalerl, noisy):
    [record] = scalerl("compare", noisy("a,b.csv"), noisy("c.csv", seed=1), "--json").records
    assert [recipe["name"] for recipe in record["recipes"]] == ["a,b", "c"]


def test_the_same_run_twice_is_told_apart(scalerl, noisy):
    [record] = scalerl("compare", noisy(), noisy(), "--json").records
    assert [recipe["name"] for recipe in record["recipes"]] == ["run", "run (2)"]
    assert record["pairs"][0]["probability_better"] == pytest.approx(0.5, abs=0.1)


def test_files_may_be_joined_by_commas(scalerl, noisy):
    one, other = noisy("a.csv"), noisy("b.csv", seed=1)
    records = scalerl("fit", f"{one},{other}", "--json").records
    assert [record["file"] for record in records] == [str(one), str(other)]


LEVELS = [0.30, 0.33, 0.37, 0.42, 0.46, 0.49, 0.52, 0.53, 0.55]
BAND = interval_text(0.81, 0.91)


@pytest.fixture
def finished(tmp_path):
    """A run directory of 80 steps that froze a forecast after each evaluation, and raised alarms."""
    run = tmp_path / "finished"
    run.mkdir()
    evals = [replace(point, device="cpu") for point in points(LEVELS, num_prompts=64)]
    live = LiveForecast(unit="flops", steps=80, every=10)
    made = [live.after(evals[: number + 1]) for number in range(len(evals))]
    frozen = [one.as_mapping() for one in made if one is not None]
    for one in frozen:
        # Far from what a new fit would say: nobody could mistake one for the other.
        one["end"] |= {"value": 0.888, "evaluation_low": 0.81, "evaluation_high": 0.91}
    alarms = [
        {"name": "entropy", "step": 10, "text": "Entropy <b>has</b> collapsed."},
        {"name": "truncation", "step": 20, "text": "11% run out of budget."},
        {"name": "truncation", "step": 60, "text": "12% run out of budget."},
    ]
    files = {"evals": map(asdict, evals), "forecasts": frozen, "alarms": alarms}
    for name, records in files.items():
        (run / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    return run


def test_the_report_of_a_finished_run_shows_what_was_frozen(finished):
    page = write_run_report(finished).read_text()
    said = f"Frozen while the run was at step 40: 0.888 for step 80, one evaluation {BAND} (90%)."
    assert f"{said} What came: 0.550, outside that band." in page
    assert "5 of 9 evaluations fitted" in page and page.count("What came") == 1


def test_another_cut_is_told_from_what_was_frozen(scalerl, finished, tmp_path):
    page = tmp_path / "page.html"
    scalerl("report", finished, "--until", "6e13", "-o", page)
    text = page.read_text()
    assert "Frozen while the run was at step 40: 0.888 for step 80" in text
    assert "Made anew for this page, from the 7 evaluations fitted here. What came: 0.550" in text


def test_a_run_that_goes_on_says_that_its_end_is_to_come(scalerl, finished, tmp_path):
    evals = finished / "evals.jsonl"
    evals.write_text("".join(evals.read_text().splitlines(keepends=True)[:-1]))
    scalerl("report", evals, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert (
        f"at step 70: 0.888 for step 80, one evaluation {BAND} (90%); step 80 is still to come." in text
        and "What came" not in text
    )


def test_a_report_lists_each_alarm_as_it_was_last_raised(scalerl, finished, tmp_path):
    scalerl("report", finished, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    first, second = (
        "truncation at step 60, raised 2 times: 12% run out of budget.",
        "entropy at step 10: Entropy &lt;b&gt;has&lt;/b&gt; collapsed.",
    )
    assert text.index("Alarms of the run") < text.index(first) < text.index(second) < text.index("expect")


def test_a_table_beside_a_run_has_neither_alarms_nor_frozen_forecasts(scalerl, finished, noisy, tmp_path):
    table = noisy("finished/table.csv")
    scalerl("report", table, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Alarms" not in text and "Frozen" not in text
