import math

import pytest

from scalerl.errors import InputError
from scalerl.readers import read

ROWS = "0,0,0.20,100\n10,1.5,0.30,100\n20,3,0.40,\n"
TABLE = f"# unit: gpu_hours\nstep,compute,value,n\n{ROWS}"


def written(tmp_path, text, name="run.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(tmp_path, text, **choices):
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, text), **choices)
    return str(caught.value)


def test_columns_unit_and_samples(tmp_path):
    curve = read(written(tmp_path, TABLE))
    assert (curve.name, curve.unit, curve.metric, curve.warnings) == ("run", "gpu_hours", "pass_rate", ())
    assert curve.compute.tolist() == [0, 1.5, 3]
    assert curve.value.tolist() == [0.2, 0.3, 0.4]
    assert curve.num_samples[:2].tolist() == [100, 100] and math.isnan(curve.num_samples[2])
    assert curve.step is not None and curve.step.tolist() == [0, 10, 20]
    assert curve.axes["steps"].tolist() == [0, 10, 20] and curve.axes["gpu_hours"].tolist() == [0, 1.5, 3]


@pytest.mark.parametrize(
    ("comment", "unit"),
    [
        ("# unit: gpu_hours", "gpu_hours"),
        ("# compute unit: FLOPs", "flops"),
        ("# compute unit: optimizer steps", "steps"),
        ("#Unit: Tokens", "tokens"),
        ("# Compute_Unit: GPU-hours", "gpu_hours"),
        ("\n# source: somewhere\n\n# unit: gpu hours\n", "gpu_hours"),
    ],
)
def test_unit_from_comment(tmp_path, comment, unit):
    assert read(written(tmp_path, f"{comment}\ncompute,value\n0,0.1\n1,0.2\n2,0.3\n")).unit == unit


def test_unit_from_the_only_column_named_as_one(tmp_path):
    curve = read(written(tmp_path, "tokens,value\n0,0.1\n1e6,0.2\n2e6,0.3\n"))
    assert curve.unit == "tokens" and curve.last_compute == 2e6


def test_unit_option_renames_and_warns_but_never_picks_a_column(tmp_path):
    table = "# unit: gpu_hours\ntokens,compute,value\n0,0,0.1\n1e6,1,0.2\n2e6,2,0.3\n"
    curve = read(written(tmp_path, table), unit="tokens")
    assert curve.unit == "tokens" and curve.compute.tolist() == [0, 1, 2]
    assert any("known to hold gpu_hours" in words for words in curve.warnings)
    assert read(written(tmp_path, table), unit="gpu_hours").warnings == ()


def test_named_columns(tmp_path):
    table = "# unit: gpu_hours\ntokens,compute,acc\n0,0,0.1\n1e6,1,0.2\n2e6,2,0.3\n"
    curve = read(written(tmp_path, table), compute_column="tokens", value_column="acc")
    assert curve.unit == "tokens" and curve.compute.tolist() == [0, 1e6, 2e6] and curve.warnings == ()


def test_range_rescales_and_says_so(tmp_path):
    table = "# unit: steps\ncompute,value\n0,-5\n1,0\n2,2.5\n"
    curve = read(written(tmp_path, table), value_range=(-5, 5))
    assert curve.value.tolist() == [0, 0.5, 0.75] and curve.metric == "reward"
    assert any("rescaled from -5..5" in words for words in curve.warnings)


def test_training_reward_is_said(tmp_path):
    head = "# metric: mean reward\n# class: train-reward\n"
    curve = read(written(tmp_path, head + TABLE))
    assert curve.metric == "reward" and "not held-out" in curve.warnings[0]
    assert read(written(tmp_path, "# metric: test accuracy\n" + TABLE)).metric == "pass_rate"


def test_two_rows_of_one_compute_are_refused_or_merged_on_demand(tmp_path):
    path = written(tmp_path, f"{TABLE}20,3,0.45,\n")
    with pytest.raises(InputError, match=r"line 6: 'compute' is 3 as in line 5; expected one row .*--merge"):
        read(path)
    curve = read(path, merge=True)
    assert len(curve) == 3 and curve.value[-1] == 0.45
    assert curve.warnings == ("line 5 has the compute of the line after it and is left out",)


def test_unit_that_is_not_named_is_assumed_and_said(tmp_path):
    curve = read(written(tmp_path, "compute,value\n0,0.1\n1,0.2\n2,0.3\n"))
    assert curve.unit == "gpu_hours" and "# unit:" in curve.warnings[0]


def test_an_axis_that_does_not_rise_is_left_out_and_said(tmp_path):
    text = "# unit: tokens\nstep,compute,value\n1,10,0.1\n1,20,0.2\n2,30,0.3\n"
    curve = read(written(tmp_path, text))
    assert "steps" not in curve.axes and "steps do not rise and are left out" in curve.warnings


def test_comments_may_stand_between_rows(tmp_path):
    text = "# unit: steps\ncompute,value\n0,0.1\n# restarted here, twice\n1,0.2\n2,0.3\n3,abc\n"
    with pytest.raises(InputError, match="line 7: 'value' is 'abc'"):
        read(written(tmp_path, text))
    assert len(read(written(tmp_path, text.replace("3,abc\n", "")))) == 3


def test_a_missing_header_is_named(tmp_path):
    with pytest.raises(InputError, match="the first row holds numbers; expected a header"):
        read(written(tmp_path, "0,0.1\n1,0.2\n2,0.3\n3,0.4\n"))


def test_an_exact_copy_of_a_row_is_refused_too(tmp_path):
    with pytest.raises(InputError, match="as in line 5"):
        read(written(tmp_path, f"{TABLE}20,3,0.40,\n"))


def test_windows_ends_byte_order_mark_quotes_and_no_last_newline(tmp_path):
    text = '\ufeff# unit: steps\r\ncompute,"value"\r\n0,0.1\r\n\r\n1,"0.2"\r\n2,0.3'
    assert read(written(tmp_path, text)).value.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("compute,value\n0,0.1\n1,abc\n", 3, "'value' is 'abc'; expected a finite number"),
        ("compute,value\n0,0.1\n1,\n", 3, "'value' is empty"),
        ("compute,value\n0,0.1\n1,nan\n", 3, "finite"),
        ("compute,value\n0,0.1\ninf,0.2\n", 3, "finite"),
        ("compute,value\n0,0.1\n1_0,0.2\n", 3, "finite"),
        ("compute,value\n-1,0.1\n1,0.2\n", 2, "expected 0 or more"),
        ("compute,value\n0,0.1\n1,1.5\n", 3, "--range LOW,HIGH"),
        ("compute,value\n0,0.1\n2,0.2\n1,0.3\n", 4, "sort the rows"),
        ("compute,value\n0,0.1\n1,0.2\n1,0.3\n", 4, "as in line 4"),
        ("compute,value,n\n0,0.1,5\n1,0.2,0\n", 3, "positive count"),
        ("compute,value\n0,0.1\n1\n", 3, "1 fields where the header has 2"),
        ("compute,value\n0,0.1\n1,0.2,3\n", 3, "3 fields where the header has 2"),
        ("compute,value,value\n0,0.1,1\n", 1, "twice"),
        ('compute,value\n0,0.1\n1,"0.2\n', 3, "not CSV"),
        ("# unit: bananas\ncompute,value\n0,0.1\n", 1, "unit is 'bananas'"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path, text, line, words):
    head = "" if text.startswith("#") else "# unit: steps\n"
    message = refused(tmp_path, head + text)
    assert f"run.csv, line {line + bool(head)}: " in message and words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,value\n0,0.1\n1,0.2\n2,0.3\n", "--compute-column; there are x, value"),
        ("step,tokens,value\n0,0,0.1\n1,1,0.2\n2,2,0.3\n", "step, tokens could be it"),
        ("compute,acc\n0,0.1\n1,0.2\n2,0.3\n", "--value-column; there are compute, acc"),
        ("", "is empty"),
        ("# unit: steps\n", "is empty"),
        ('""\n', "is empty"),
        ("# unit: steps\ncompute,value\n", "has no points"),
        ("# unit: steps\ncompute,value\n0,0.1\n1,0.2\n", "only 2 points; a curve needs at least 3"),
        (b"\xff\xfe\x00\x01garbage", "zero bytes"),
        (b"step,value\n\xe9,1\n", "line 2: is not UTF-8"),
        (b"step,value\n" + b"1" * (16 * 2**20 + 2), "longer than 16 MiB"),
    ],
)
def test_what_cannot_be_a_curve(tmp_path, text, words):
    assert words in refused(tmp_path, text)


def test_column_that_is_not_there_lists_those_that_are(tmp_path):
    assert "there are step, compute, value, n" in refused(tmp_path, TABLE, value_column="acc")
    assert "there are step, compute, value, n" in refused(tmp_path, TABLE, compute_column="acc")
    assert "no tasks" in refused(tmp_path, TABLE, task="maths")


def test_paths_that_hold_nothing(tmp_path):
    for path in (tmp_path / "none.csv", "\0", tmp_path / ("x" * 5000), tmp_path):
        with pytest.raises(InputError):
            read(path)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"unit": "hours"}, "--unit is 'hours'"),
        ({"value_range": (1, 0)}, "the lower first"),
        ({"gpus": 0}, "--gpus"),
        ({"model_size": -1}, "--model-size"),
    ],
)
def test_options_are_checked(tmp_path, choices, words):
    assert words in refused(tmp_path, TABLE, **choices)
