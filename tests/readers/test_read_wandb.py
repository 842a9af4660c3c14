import json

import pytest

from scalerl.errors import InputError
from scalerl.readers import read

EXPORT = """\
"Step","a - val/acc","a - val/acc__MIN","a - val/acc__MAX","b - val/acc","b - val/acc__MIN","b - val/acc__MAX"
"0","0.1","0.1","0.1","","",""
"10","0.2","0.2","0.2","0.3","0.3","0.3"
"20","0.3","0.3","0.3","",,
"30","","","","0.4","0.4","0.4"
"40","","","","0.5","0.5","0.5"
"""


def written(tmp_path, text, name="export.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_one_run_of_an_export(tmp_path):
    curve = read(written(tmp_path, EXPORT), value_column="b - val/acc")
    assert (curve.name, curve.unit) == ("b", "steps")
    assert curve.compute.tolist() == [10, 30, 40] and curve.value.tolist() == [0.3, 0.4, 0.5]


def test_several_runs_are_listed(tmp_path):
    with pytest.raises(InputError, match="--value-column; there are a - val/acc, b - val/acc"):
        read(written(tmp_path, EXPORT))
    with pytest.raises(InputError, match="no column 'c'"):
        read(written(tmp_path, EXPORT), value_column="c")


def test_the_only_run_needs_no_name(tmp_path):
    text = '"Step","a - critic/score/mean","a - critic/score/mean__MIN","a - critic/score/mean__MAX"\n'
    rows = "".join(f'"{n}","0.{n}","0.{n}","0.{n}"\n' for n in (1, 2, 3))
    curve = read(written(tmp_path, text + rows))
    assert curve.name == "a" and curve.metric == "reward" and "not held-out" in curve.warnings[0]


def test_export_against_time_is_refused(tmp_path):
    with pytest.raises(InputError, match="against Step"):
        read(written(tmp_path, EXPORT.replace('"Step"', '"Relative Time (Process)"')))


def test_history_of_an_unknown_trainer(tmp_path):
    rows = [{"_step": n, "_runtime": 1.0, "val/pass_rate": 0.1 * n, "loss": 3.0, "note": "x"} for n in (1, 2, 3)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    curve = read(written(tmp_path, text, "history.jsonl"))
    assert curve.unit == "steps" and curve.value == pytest.approx([0.1, 0.2, 0.3])
    assert curve.metric == "pass_rate" and curve.warnings == ()


def test_a_torn_last_row_of_an_export_is_left_out_and_said(tmp_path):
    rows = [f'"{step}","{0.1 + step / 100}","0.1","0.9"' for step in (0, 10, 20, 30)]
    header = '"Step","run - val/acc","run - val/acc__MIN","run - val/acc__MAX"'
    path = tmp_path / "export.csv"
    for torn in ('"40","0.', '"40","0.5"'):
        path.write_text("\n".join([header, *rows, torn]))
        curve = read(path)
        assert len(curve) == 4 and any("line 6 is cut off and is left out" in words for words in curve.warnings)
    path.write_text("\n".join([header, rows[0], '"5","0.2"', *rows[1:]]) + "\n")
    with pytest.raises(InputError, match="line 3: has 2 fields"):
        read(path)
