import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.run.json_line import json_line


def strict(line):
    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(line, parse_constant=refuse)


def test_what_is_not_finite_becomes_null_however_deep():
    record = {"a": float("nan"), "b": [1.5, float("inf")], "c": {"d": np.float32("-inf")}, "e": (np.nan, 2)}
    assert strict(json_line(record)) == {"a": None, "b": [1.5, None], "c": {"d": None}, "e": [None, 2]}


def test_numpy_numbers_are_plain_and_exact():
    record = {"f": np.float32(0.1), "d": np.float64(0.1), "i": np.int64(2**62), "b": np.bool_(True), "a": np.eye(2)}
    found = strict(json_line(record))
    assert found == {"f": 0.10000000149011612, "d": 0.1, "i": 2**62, "b": True, "a": [[1, 0], [0, 1]]}
    assert found["b"] is True and type(found["i"]) is int


def test_a_line_is_one_line():
    line = json_line({"text": "a\nb\r\n\u2028c", "word": "größer"})
    assert line.count(b"\n") == 1 and line.endswith(b"}\n") and b"\r" not in line
    assert "größer".encode() in line and strict(line)["text"] == "a\nb\r\n\u2028c"


def test_half_a_surrogate_pair_survives():
    assert strict(json_line({"text": "\ud800", "loss": float("nan")})) == {"text": "\ud800", "loss": None}


def test_what_json_cannot_hold_is_refused_by_name():
    with pytest.raises(TypeError, match="is a set, which JSON cannot hold"):
        json_line({"a": {1, 2}})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), VALUES))
def test_any_plain_record_comes_back(record):
    line = json_line(record)
    assert line.count(b"\n") == 1 and repr(strict(line)) == repr(record)
