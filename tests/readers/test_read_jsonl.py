import json

import pytest

from scalerl.errors import InputError
from scalerl.readers import read

POINTS = [{"gpu_hours": 0, "value": 0.1, "n": 64}, {"gpu_hours": 2, "value": 0.2, "n": 64}]
POINTS += [{"gpu_hours": 4, "value": 0.25, "n": None}]


def lines(tmp_path, records, tail=""):
    path = tmp_path / "points.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records) + tail)
    return path


def test_same_keys_as_csv(tmp_path):
    curve = read(lines(tmp_path, POINTS))
    assert (curve.unit, curve.compute.tolist()) == ("gpu_hours", [0, 2, 4])
    assert curve.num_samples[:2].tolist() == [64, 64]


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ('{"gpu_hours": 6, "val', "line 4: is not a JSON object; was the file cut off?"),
        ("[1]\n", "line 4: is not a JSON object"),
        ('{"gpu_hours": 6}\n', "line 4: 'value' is empty"),
        ('{"gpu_hours": 6, "value": NaN}\n', "line 4: 'value' is 'nan'"),
        ('{"gpu_hours": 6, "value": true}\n', "line 4: 'value' is 'True'"),
        ('{"gpu_hours": 6, "value": [1]}\n', "line 4: 'value' is a list"),
        (f'{{"gpu_hours": 1{"0" * 400}, "value": 0.5}}\n', "line 4: 'gpu_hours'"),
        ('{"gpu_hours": 6, "value": 1.5}\n', "--range"),
    ],
)
def test_mistakes_name_the_line(tmp_path, tail, words):
    with pytest.raises(InputError) as caught:
        read(lines(tmp_path, POINTS, tail))
    assert words in str(caught.value)


def test_unit_that_is_not_named_is_assumed_and_said(tmp_path):
    records = [{"compute": x, "value": 0.1} for x in range(3)]
    curve = read(lines(tmp_path, records))
    assert curve.unit == "gpu_hours" and "--unit" in curve.warnings[0]
    assert read(lines(tmp_path, records), unit="tokens").warnings == ()


def test_content_decides_not_the_suffix(tmp_path):
    path = lines(tmp_path, POINTS)
    assert read(path.rename(tmp_path / "points.csv")).last_compute == 4
