"""What a program gives is compared by value, and no output whatever breaks the comparison."""

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.tasks.same_output import MOST_DEEP, parsed, same_stdout, same_value

ALIKE = [
    ("7", "7\n"), ("1 2 3 \n\n", "1 2 3"), ("a  \nb", "a\nb"), ("  a\nb", "a\n b"), ("", "\n"), ("a\r\nb", "a\nb"),
    ("1  2", "1 2"), ("7.0", "7"), ("7", "7.000"), ("1e3", "1000"), ("0.5", ".50"), ("+5", "5"), ("-0", "0"),
    ("0.3333333", "0.333333333"), ("1000000.5", "1000000"[:7] + ".4"), ("YES 0.50", "YES 0.5"),
    ("9" * 5000, "9" * 5000), ("1e-9", "1e-10"), ("0011", "0011"), ("0", "-0.0"),
    ("7.0000001", "7.0"), ("1e-9", "0.0"),
    ("x" * 6000, "x" * 6000), ("1.50", "1.5" + "0" * 4997), ("0", "0.0"), ("10", "1e1"),
]  # fmt: skip
DIFFERENT = [
    ("7", "8"), ("1 2", "1\n2"), ("a\n\nb", "a\nb"), ("yes", "YES"), ("", "0"), ("7.0000001", "7"),
    ("1_000", "1000"),
    ("50000000000000001", "50000000000000000"), ("0.33333", "0.333333333"), ("nan", "NaN"), ("inf", "1e999"),
    ("1 2 3", "1 2"), ("٣", "3"), ("0x10", "16"), ("1,5", "1.5"), ("9" * 5000, "9" * 4999 + "8"), ("1e9999", "0"),
    ("11", "0011"), ("0011", "11"), ("7", "007"), ("007", "7"), ("0", "00"), ("-7", "-07"), ("0.5", "00.5"),
    ("7.00001", "7.0"), ("1000000.5", "1e6"), ("1000001", "1000000.0"), ("0", "0.0000011"),
    ("1000000000000000000", "1000000000000000001.0"),
    ("1.50", "1.5" + "0" * 4998), ("9" * 1_000_001, "0.5"), ("9" * 999_100 + "e999", "0.5"), ("1e999", "0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("given_", "expected"), ALIKE)
def test_outputs_that_are_alike(given_, expected):
    assert same_stdout(given_, expected)


@pytest.mark.parametrize(("given_", "expected"), DIFFERENT)
def test_outputs_that_differ(given_, expected):
    assert not same_stdout(given_, expected)


@given(st.text())
def test_every_output_is_like_itself(text):
    assert same_stdout(text, text) and same_stdout(f"{text} \n\n", text)


@given(st.text(), st.text())
def test_without_fractions_it_does_not_matter_which_is_expected(one, other):
    if not any(sign in one + other for sign in ".eE"):
        assert same_stdout(one, other) == same_stdout(other, one)


@given(st.lists(st.integers(), min_size=1), st.lists(st.integers(), min_size=1))
def test_lines_of_whole_numbers_are_alike_just_when_the_numbers_are(one, other):
    texts = [" ".join(map(str, numbers)) for numbers in (one, other)]
    assert same_stdout(*texts) == (one == other)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1, 1))
def test_fractions_may_miss_a_millionth(value, off):
    near = value + 0.9e-6 * off * max(1.0, 0.0 if value % 1 == 0 else abs(value))
    if math.isfinite(near) and abs(value) < 1e300:
        written = f"{Decimal(value):f}0" if value % 1 else repr(value)
        assert same_value(near, value) and same_stdout(repr(near), written)


@given(st.floats(-1e9, 1e9), st.sampled_from([-2e-6, 2e-6]))
def test_fractions_may_miss_no_more(value, off):
    assert not same_value(value + off * max(1.0, abs(value)), value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
EXACT = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_written_as_json_and_read_again_is_alike(value):
    assert same_value(parsed(json.dumps(value)), value) and same_value(value, parsed(json.dumps(value)))


@given(EXACT, EXACT)
def test_values_are_alike_just_when_their_json_is(one, other):
    is_same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert same_value(one, other) == same_value(other, one) == is_same


@pytest.mark.parametrize(
    ("given_", "expected", "is_same"),
    [
        ("1", "1.0", True), ("1.0", "1", True), ("true", "1", False), ("0", "false", False), ("null", "0", False),
        ('"1"', "1", False), ("[1, 2]", "[1, 2]", True), ("[1, 2]", "[2, 1]", False), ("[]", "{}", False),
        ('{"a": 1, "b": [2]}', '{"b": [2.0], "a": 1}', True), ('{"a": 1}', '{"a": 1, "b": null}', False),
        ("NaN", "NaN", False), ("Infinity", "Infinity", True), ("1e999", "-Infinity", False), ("NaN", "1", False),
        ("7" * 6000, "7" * 6000, True), ("7" * 6000, "7" * 5999 + "8", False), ("7" * 6000, "1.5", False),
        ("[" * 150 + "]" * 150, "[" * 150 + "]" * 150, True), ("1.0000001", "1", False),
        ('"[[[["', '"[[[["', True), (r'"\"[\\"', r'"\"[\\"', True),
        ("10000000000000001", "10000000000000000.0", True), ("1" * 1_000_001, "0.5", False),
        ("-1" + "0" * 1_000_001, "2.5", False), ("1" * 1_000_001, "1e308", False),
    ],
)  # fmt: skip
def test_values_worked_by_hand(given_, expected, is_same):
    assert same_value(parsed(given_), parsed(expected)) is is_same


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1,", "nope", "{'a': 1}", "[" * 100_000, '{"a":' * 100_000, "[" * (MOST_DEEP + 1), "1 2", '"'],
)
def test_what_is_no_json_is_a_value_error_and_nothing_else(text):
    with pytest.raises(ValueError):
        parsed(text)


@given(st.text() | st.text(st.sampled_from('[]{}",:\\0123456789.eE-+ naNtrufls')))
def test_any_text_is_json_or_a_value_error(text):
    try:
        found = parsed(text)
    except ValueError:
        return
    assert found == json.loads(text) or found != found or isinstance(found, list | dict)
