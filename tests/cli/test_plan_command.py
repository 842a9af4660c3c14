"""`scalerl plan` from a file of rates and from a run."""

import subprocess
import sys
from pathlib import Path

import pytest

PAPER = Path(__file__).parents[2] / "examples" / "plans" / "paper.toml"

SMALL = """
[batch]
prompts = 4
samples = 2
[off_policy]
k = 0
[layout]
generators = 2
trainers = 1
slots = 4
[lengths]
kind = "constant"
mean = 100
[rates]
generation = [[4, 40]]
training = 100
update_seconds = 1
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def test_one_layout(scalerl, small):
    result = scalerl("plan", small)
    assert result.code == 0 and result.err == ""
    assert "2 generators and 1 trainer, pipeline with k = 0: 19 s a step" in result.out
    assert "Staleness limits it: k = 2 instead of 0 saves" in " ".join(result.out.split())


def test_as_json(scalerl, small):
    [record] = scalerl("plan", small, "--steps", "10", "--json").records
    assert record["seconds"] == pytest.approx(19) and record["layout"]["generators"] == 2
    assert record["trainers"].keys() == {"busy", "updating", "idle"}
    assert record["reliefs"][0]["name"] == "staleness" and record["limit"].startswith("staleness limits it")
    assert record["gpu_hours"] == pytest.approx(3 * 19 / 3600) and record["notes"] == []


def test_flags_stand_in_for_the_file(scalerl, small):
    flags = ("--training", "200", "--update-seconds", "0", "--generation", "2:10,4:80", "--overhead-seconds", "2")
    [record] = scalerl("plan", small, *flags, "--steps", "5", "--json").records
    assert record["seconds"] == pytest.approx(5 + 4 + 2)
    [record] = scalerl("plan", small, "--kind", "phased", "--k", "4", "--steps", "8", "--json").records
    assert record["seconds"] == pytest.approx(19) and record["lag_max"] == 3
    [record] = scalerl(
        "plan", small, "--generators", "1", "--trainers", "2", "--judge-seconds", "1", "--json"
    ).records
    assert record["seconds"] == pytest.approx(20 + 4 + 1 + 1)
    [record] = scalerl("plan", small, "--slots", "2", "--generators", "4", "--json").records
    assert record["seconds"] == pytest.approx(10 + 8 + 1)


def test_a_budget_of_gpus(scalerl, small):
    records = scalerl("plan", small, "--gpus", "6", "--k", "4", "--steps", "20", "--json").records
    assert all(one["layout"]["generators"] + one["layout"]["trainers"] == 6 for one in records)
    rates = [one["tokens_per_second"] for one in records]
    assert rates[0] >= 0.99 * max(rates) and "reliefs" in records[0] and "reliefs" not in records[1]
    [held] = scalerl("plan", small, "--gpus", "6", "--least-trainers", "5", "--json").records
    assert held["layout"]["trainers"] == 5


def test_the_paper_in_seconds(scalerl):
    [record] = scalerl("plan", PAPER, "--json").records
    assert record["layout"]["generators"] == 64 and record["gpu_hours"] == pytest.approx(1.5, abs=0.1)
    assert record["lag_max"] == 8


def test_a_run_that_was_made(scalerl, trained):
    result = scalerl("plan", trained)
    assert result.code == 0 and result.out.startswith("One device, pipeline with k = 8: ")
    several = scalerl("plan", trained, "--gpus", "4", "--steps", "10")
    assert several.code == 0 and "publish weights is taken as 0" in several.err


def test_that_one_device_is_faster_is_said(scalerl, trained):
    alone = scalerl("plan", trained, "--overhead-seconds", "5")
    assert "overhead (logs, checkpoints, waiting for verdicts)" in " ".join(alone.out.split())
    assert "device of the source" not in alone.out
    slow = scalerl("plan", trained, "--gpus", "3", "--steps", "10", "--update-seconds", "9000")
    said = " ".join(slow.out.split())
    assert "The one device of the source is faster: " in said and "s a step instead of 9,00" in said
    assert "trainers idle 0%, generators idle 0%, both updating weights 100%." in said
    first, *_ = scalerl(
        "plan", trained, "--gpus", "3", "--steps", "10", "--update-seconds", "9000", "--json"
    ).records
    assert first["notes"][0].startswith("The one device of the source is faster")


def test_an_update_that_is_short_is_not_named(scalerl, small):
    assert "updating" not in scalerl("plan", small).out
    assert "both updating weights 36%" in " ".join(scalerl("plan", small, "--update-seconds", "10").out.split())


def test_tables_in_a_file_are_no_wider_than_text(scalerl, monkeypatch):
    call = ("plan", PAPER, "--gpus", "80", "--steps", "5")
    assert scalerl(*call).code == 0
    monkeypatch.delenv("COLUMNS")
    result = scalerl(*call)
    assert "Layout " in result.out and max(map(len, result.out.splitlines())) <= 100


def test_nothing_that_is_given_is_ignored(refused, small, trained):
    for sources in ((small, trained), (trained, small), (small, small)):
        assert "small.toml: is a file of rates; expected it alone, or nothing but runs" in refused("plan", *sources)
    assert "expected --gpus N with it" in refused("plan", small, "--least-trainers", "2")


def test_what_is_wrong_is_told(refused, small, tmp_path):
    assert "neither a run directory nor a file" in refused("plan", tmp_path / "none")
    assert "expected one of pipeline, phased" in refused("plan", small, "--kind", "sync")
    phased = refused("plan", small, "--kind", "phased", "--k", "0")
    assert "phased makes k updates a phase: expected --k of at least 1" in phased
    assert "expected --k of at least 1" in refused("plan", small, "--kind", "phased")
    assert "expected pairs such as" in refused("plan", small, "--generation", "40")
    assert "expected a whole number, 2 or more" in refused("plan", small, "--gpus", "1")
    assert "expected neither" in refused("plan", small, "--gpus", "4", "--trainers", "1")
    assert "expected 0 or more" in refused("plan", small, "--update-seconds", "-1")
    (tmp_path / "bad.toml").write_text("batch = ")
    assert "is no TOML" in refused("plan", tmp_path / "bad.toml")
    (tmp_path / "odd.toml").write_text(SMALL + "speed = 1\n")
    assert "odd.toml: rates.speed is no key" in refused("plan", tmp_path / "odd.toml")


@pytest.mark.parametrize(("words", "heavy"), [("--help", {"numpy", "torch"}), ("FILE", {"torch", "matplotlib"})])
def test_nothing_heavy_is_loaded(small, words, heavy):
    words = words.replace("FILE", str(small))
    code = f"from scalerl.cli import run; run(['plan', {words!r}]); import sys; print('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.splitlines()[-1].split()) & heavy
