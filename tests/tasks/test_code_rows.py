"""Rows of every dataset become the same problems; what cannot be one is refused by its line."""

import base64
import json
import os
import pickle
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.tasks.code_rows import COLUMNS, problem_of
from scalerl.tasks.code_suite import Suite, Trial
from scalerl.tasks.dataset import Row, rows
from scalerl.tasks.packed_json import unpacked

SUM = Suite(trials=(Trial(given="1 2\n", expected="3\n"), Trial(given="5 5\n", expected="10\n")))
ADD = Suite(trials=(Trial(given="[1, 2]", expected="3"), Trial(given="[[5], 5]", expected="[10]")), entry="add")
PAIRS = [{"input": one.given, "output": one.expected} for one in SUM.trials]
LINES = [{"input": "1\n2", "output": "3"}, {"input": "[5]\n5\n", "output": "[10]"}]


def row(cells: dict) -> Row:
    return Row(cells=cells, file=Path("set.jsonl"), line=7)


def suite(cells: dict) -> Suite:
    return problem_of(row(cells)).suite


def zipped(pickle_: bytes) -> str:
    return base64.b64encode(zlib.compress(pickle_)).decode()


def packed(value: object) -> str:
    return zipped(pickle.dumps(json.dumps(value)))


def with_keys(tests: list, **more: object) -> list:
    return [{**test, **more} for test in tests]


OWN = {"prompt": "Add.", "tests": [{"stdin": "1 2\n", "stdout": "3\n"}, {"stdin": "5 5\n", "stdout": "10\n"}]}
LIVE = {"question_content": "Add.", "metadata": "{}", "private_test_cases": "[]"}
PROGRAMS = [
    OWN,
    {**OWN, "tests": json.dumps(OWN["tests"]), "entry": None, "seconds": None},  # as parquet may have it
    {"problem": "Add.", "tests": json.dumps(with_keys(PAIRS, type="stdin_stdout"))},
    {"problem": "Add.", "tests": json.dumps(with_keys(PAIRS, type="stdin_stdout", fn_name=None))},
    {"problem": "Add.", "tests": json.dumps(with_keys(PAIRS, testtype="stdin", metadata={"func_name": None}))},
    {"problem": "Add.", "tests": json.dumps(PAIRS)},
    {"problem": "Add.", "tests": json.dumps({"inputs": ["1 2\n", "5 5\n"], "outputs": ["3\n", "10\n"]})},
    {
        "question": "Add.",
        "input_output": json.dumps({"inputs": ["1 2\n", ["5 5", ""]], "outputs": ["3\n", "10\n"]}),
    },
    {**LIVE, "public_test_cases": json.dumps(with_keys(PAIRS, testtype="stdin"))},
    {
        **LIVE,
        "public_test_cases": json.dumps(with_keys(PAIRS[:1], testtype="stdin")),
        "private_test_cases": packed(with_keys(PAIRS[1:], testtype="stdin")),
    },
]
CALLS = [
    {
        "prompt": "Add.",
        "entry": "add",
        "tests": [{"arguments": [1, 2], "result": 3}, {"arguments": [[5], 5], "result": [10]}],
    },
    {
        "problem": "Add.",
        "tests": json.dumps(with_keys(LINES, testtype="functional", metadata={"func_name": "add"})),
    },
    {
        "problem": "Add.",
        "tests": json.dumps(with_keys(LINES, testtype="functional")),
        "metadata": {"func_name": "add"},
    },
    {
        **LIVE,
        "public_test_cases": json.dumps(with_keys(LINES, testtype="functional")),
        "metadata": '{"func_name": "add"}',
    },
]
ARGUMENTS = [[1, 2], [[5], 5]]
WRAPPED = [
    {"question": "Add.", "input_output": json.dumps({"fn_name": "add", "inputs": ARGUMENTS, "outputs": [3, [10]]})},
    {"problem": "Add.", "tests": json.dumps({"fn_name": "add", "inputs": ARGUMENTS, "outputs": [3, [10]]})},
    {
        "problem": "Add.",
        "tests": json.dumps(
            [
                {"type": "function_call", "fn_name": "add", "input": [1, 2], "output": 3},
                {"type": "function_call", "fn_name": "add", "input": [[5], 5], "output": [10]},
            ]
        ),
    },
]


@pytest.mark.parametrize("cells", PROGRAMS)
def test_programs_of_every_dataset(cells):
    assert suite(cells) == SUM


@pytest.mark.parametrize("cells", CALLS)
def test_calls_of_every_dataset(cells):
    found = suite(cells)
    assert found.entry == "add" and not found.may_be_wrapped
    assert [json.loads(one.given) for one in found.trials] == ARGUMENTS
    assert [json.loads(one.expected) for one in found.trials] == [3, [10]]


@pytest.mark.parametrize("cells", WRAPPED)
def test_calls_whose_results_may_stand_in_a_list(cells):
    assert suite(cells) == Suite(trials=ADD.trials, entry="add", may_be_wrapped=True)


def test_arguments_of_livecodebench_are_taken_letter_by_letter():
    tests = [{"input": '"a\\nb"\n1e2\n[1,  2]', "output": "1.50", "testtype": "functional"}]
    found = suite({**LIVE, "public_test_cases": json.dumps(tests), "metadata": '{"func_name": "f"}'})
    assert found.trials == (Trial(given='["a\\nb", 1e2, [1,  2]]', expected="1.50"),)


def test_a_call_without_arguments():
    tests = json.dumps([{"input": "", "output": "1", "testtype": "functional"}])
    assert suite({**LIVE, "public_test_cases": tests, "metadata": '{"func_name": "f"}'}).trials[0].given == "[]"


def test_names_limits_and_difficulty():
    taco = {
        "question": "Add.\n",
        "starter_code": "def add(a, b):\n",
        "input_output": '{"inputs": ["1"], "outputs": ["2"]}',
        "difficulty": "EASY",
        "time_limit": "0.5 - 2.0 seconds",
        "memory_limit": "256.0 megabytes",
    }
    found = problem_of(row(taco))
    assert (found.text, found.starter, found.difficulty) == ("Add.", "def add(a, b):", "EASY")
    assert (found.suite.seconds, found.suite.memory_mib) == (2.0, 256)
    assert len(found.name) == 16 and found.name != problem_of(row({**taco, "starter_code": ""})).name
    assert found.name == problem_of(row({**taco, "time_limit": None})).name
    assert problem_of(row({**taco, "problem_id": 12})).name == "12"
    own = problem_of(row({**OWN, "id": "sum", "seconds": 2, "difficulty": 3}))
    assert (own.name, own.suite.seconds, own.difficulty) == ("sum", 2.0, "3")
    long = problem_of(row({**OWN, "id": 10**400, "difficulty": 10**400}))
    assert long.name == long.difficulty == f"1{'0' * 400}"  # larger than any float
    assert (
        problem_of(row({**LIVE, "public_test_cases": json.dumps(PAIRS), "question_id": "1873_A"})).name == "1873_A"
    )


APPS = {"question": "a", "input_output": '{"inputs": ["1"], "outputs": ["1"]}'}
DEEP = json.loads("[" * 300 + "]" * 300)
DEEP_LINE = {"input": "[" * 300 + "]" * 300, "output": "1", "testtype": "functional"}
TWICE = [{"stdin": "1", "stdout": "1"}]
REFUSED = [
    ({}, "has the columns nothing; expected question_content, public_test_cases (LiveCodeBench); or question, "),
    ({"text": "a", "tests": []}, "has the columns text, tests; expected question_content, public_test_cases"),
    ({"prompt": "a"}, "has the columns prompt; expected"),
    ({"prompt": " ", "tests": TWICE}, "has an empty 'prompt'"),
    ({"prompt": "a", "tests": []}, "has no tests; expected at least one"),
    ({"prompt": "a", "tests": {}}, "has {} as tests; expected a list of objects"),
    ({"prompt": "a", "tests": [3]}, "test 1 is 3; expected an object"),
    ({"prompt": "a", "tests": [{"stdin": "1"}]}, "test 1 has no 'stdout', but stdin"),
    ({"prompt": "a", "tests": [*TWICE, {"stdin": [1], "stdout": "1"}]}, "test 2 has [1] as input; expected text"),
    ({"prompt": "a", "tests": [{"input": "1", "output": "1"}]}, "test 1 has no 'stdin', but input, output"),
    ({"prompt": "a", "entry": "f", "tests": TWICE}, "test 1 has no 'arguments', but stdin, stdout"),
    (
        {"prompt": "a", "entry": "f", "tests": [{"arguments": 3, "result": 1}]},
        "test 1 has no list as 'arguments'",
    ),
    (
        {"prompt": "a", "entry": "f(x)", "tests": [{"arguments": [], "result": 1}]},
        "calls 'f(x)'; expected the name of a function",
    ),
    ({"prompt": "a", "entry": ["f"], "tests": TWICE}, "has ['f'] as 'entry'; expected text"),
    ({"prompt": "a", "tests": TWICE, "seconds": -2}, "allows -2 seconds; expected 0.1 to 3600"),
    ({"prompt": "a", "tests": TWICE, "seconds": float("nan")}, "allows nan seconds; expected 0.1 to 3600"),
    ({"prompt": "a", "tests": TWICE, "seconds": "2"}, "has '2' as 'seconds'; expected a number"),
    ({"prompt": "a", "tests": TWICE, "seconds": True}, "has True as 'seconds'; expected a number"),
    ({"problem": "a", "tests": "[{"}, "has broken JSON in 'tests': Expecting property name"),
    ({"problem": "a", "tests": ""}, "has an empty 'tests'; expected JSON"),
    ({"problem": "a", "tests": "[" * 100_000}, "has broken JSON in 'tests': "),
    ({"problem": "a", "tests": "3"}, "has 3 as tests; expected a list of objects"),
    ({"problem": "a", "tests": '[{"input": "1"}]'}, "test 1 has no 'output', but input"),
    (
        {"problem": "a", "tests": json.dumps([{**LINES[0], "testtype": "functional"}])},
        "calls a function but does not name it; expected fn_name or metadata.func_name",
    ),
    (
        {"problem": "a", "tests": json.dumps([{**PAIRS[0]}, {**PAIRS[1], "fn_name": "f"}])},
        "mixes calls of functions, or calls and programs; expected one kind of test",
    ),
    (
        {"question": "a", "input_output": '{"inputs": ["1", "2"], "outputs": ["1"]}'},
        "has 2 inputs and 1 outputs; expected as many of each",
    ),
    ({"question": "a", "input_output": '{"inputs": [], "outputs": []}'}, "has no tests; expected at least one"),
    ({"question": "a", "input_output": '{"inputs": ["1"]}'}, "has no 'outputs', but inputs"),
    (
        {"question": "a", "input_output": '{"inputs": "1", "outputs": "1"}'},
        "has inputs or outputs that are no list",
    ),
    ({"question": "a", "input_output": "[]"}, "has tests that are no object; expected inputs, outputs"),
    (
        {"question": "a", "input_output": '{"fn_name": "f", "inputs": [3], "outputs": [1]}'},
        "test 1 has 3 as input; expected a list of arguments",
    ),
    (
        {"question": "a", "input_output": '{"fn_name": "f", "inputs": ["N = 2"], "outputs": ["1"]}'},
        "test 1 has the argument 'N = 2'; expected JSON, one argument a line",
    ),
    (
        {"question": "a", "input_output": '{"inputs": ["1"], "outputs": ["1"]}', "time_limit": "soon"},
        "has 'soon' as 'time_limit'; expected such as '2.0 seconds'",
    ),
    (
        {"question": "a", "input_output": '{"inputs": ["1"], "outputs": ["1"]}', "memory_limit": "2 stone"},
        "has '2 stone' as 'memory_limit'; expected such as '2.0 megabytes'",
    ),
    (
        {**LIVE, "public_test_cases": "[]", "private_test_cases": "AAAA"},
        "cannot unpack 'private_test_cases' (error: Error -3",
    ),
    ({**LIVE, "public_test_cases": "{}"}, "has test cases that are no list"),
    (
        {**APPS, "memory_limit": "1000000 megabytes"},
        "allows 1e+06 megabytes; expected 1 to 65536",
    ),
    ({**APPS, "time_limit": f"{'9' * 400} seconds"}, "allows inf seconds; expected 0.1 to 3600"),
    (
        {"prompt": "a", "entry": "f", "tests": [{"arguments": [], "result": DEEP}]},
        "test 1 has [[[[[[[[[[",
    ),
    (
        {"question": "a", "input_output": json.dumps({"fn_name": "f", "inputs": ["1" * 5000], "outputs": ["1"]})},
        "test 1 has the argument '11111111",
    ),
    (
        {"prompt": "a", "entry": "f", "tests": [{"arguments": [DEEP], "result": 1}]},
        "test 1 has [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ as arguments; expected fewer lists in lists",
    ),
    (
        {**LIVE, "public_test_cases": json.dumps([DEEP_LINE]), "metadata": '{"func_name": "f"}'},
        "test 1 has [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ as arguments; expected fewer lists in lists",
    ),
    ({"prompt": "a", "tests": TWICE, "seconds": 10**400}, f"allows 1{'0' * 39} seconds; expected 0.1 to 3600"),
    ({"prompt": "a", "tests": TWICE, "id": 10**5000}, "Exceeds the limit (4300 digits)"),
    ({"prompt": "a", "tests": [{1: 2}]}, "test 1 has no 'stdin', but 1"),
    (
        {"prompt": "a", "entry": "f", "tests": [{"arguments": [b"x"], "result": 1}]},
        "cannot be used (TypeError: Object of type bytes is not JSON serializable); expected values such as",
    ),
    (
        {"prompt": "a\ud800", "tests": TWICE},
        "has text in 'prompt' that is no UTF-8; expected no half of a character",
    ),
    ({"prompt": "a", "tests": TWICE, "id": "\udfff"}, "has text in 'id' that is no UTF-8"),
    ({"prompt": "a", "tests": TWICE, "difficulty": "\ud800"}, "has text in 'difficulty' that is no UTF-8"),
    ({"prompt": "a", "tests": TWICE, "starter_code": "\ud800"}, "has starter code that is no UTF-8"),
    ({"prompt": "a", "tests": [*TWICE, {"stdin": "1", "stdout": "\ud800"}]}, "test 2 is no UTF-8"),
    ({"prompt": "a", "tests": [{"stdin": "\ud800", "stdout": "1"}]}, "test 1 is no UTF-8"),
]


@pytest.mark.parametrize(("cells", "problem"), REFUSED)
def test_a_row_that_is_no_problem_is_refused_by_its_line(cells, problem):
    with pytest.raises(InputError) as caught:
        problem_of(row(cells))
    assert str(caught.value).startswith(f"set.jsonl, line 7: {problem}"), caught.value


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("text", ["[]", '["a\\n\u00e9\u20ac\U0001f600"]', json.dumps(["x" * 70_000])])
def test_one_text_is_unpacked_of_every_protocol(protocol, text):
    assert unpacked(zipped(pickle.dumps(text, protocol)), "x") == json.loads(text)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "evil", [Evil(), [Evil()], len, Path("x"), {1: {2}}.keys, [], {"a": 1}, ("[]",), 5, b"[]", None]
)
def test_nothing_but_a_text_is_unpacked_and_nothing_called(evil, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ValueError, match=r"cannot unpack 'x' \(ValueError: its pickle holds [A-Z_0-9]+, not one text"
    ):
        unpacked(zipped(pickle.dumps(evil, protocol)), "x")
    assert not list(tmp_path.iterdir())


HASHED = b"\x80\x04})\x94" + b"".join(b"h" + bytes([at]) + b"\x86\x94" for at in range(60)) + b"K\x01s."


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (HASHED, "its pickle holds EMPTY_DICT"),  # a tuple of tuples of tuples: its hash takes 2^60 steps
        (b"\x80\x04\x8c\x02[]\x8c\x02[].", "does not hold one text alone"),
        (b"\x80\x04.", "does not hold one text alone"),
        (b"\x80\x04\x8c\x02[]" + b"\x94" * 1_000_000 + b".", "does not hold one text alone"),
        (b"\x80\x04\x8c\x02[]", "pickle exhausted before seeing STOP"),
        (b"X\xff\xff\xff\x7f[].", "expected 2147483647 bytes"),
        (b"nonsense", "opcode"),
        (b"", "pickle exhausted"),
    ],
)
def test_a_pickle_that_would_take_for_ever_is_refused(made, problem):
    with pytest.raises(ValueError, match=f"cannot unpack 'x' .*{problem}"):
        unpacked(zipped(made), "x")


def test_a_place_in_the_memo_takes_no_memory():
    assert unpacked(zipped(b"\x80\x04\x8c\x02[]r" + struct.pack("<I", 2**32 - 1) + b"."), "x") == []


def test_what_is_cut_off_is_refused_by_its_line():
    cut = base64.b64encode(zlib.compress(pickle.dumps("[]"))[:-3]).decode()
    with pytest.raises(
        InputError, match=r"line 7: cannot unpack 'private_test_cases' \(ValueError: it is cut off\)"
    ):
        problem_of(row({**LIVE, "public_test_cases": "[]", "private_test_cases": cut}))


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("scalerl.tasks.packed_json.MOST_BYTES", 1 << 20)
    with pytest.raises(ValueError, match="more than 1 MiB"):
        unpacked(zipped(bytes(1 << 24)), "x")


TEXT = st.text(max_size=12)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_the_same_programs_are_the_same_suite_in_every_format(pairs):
    tests = [{"input": given_, "output": expected} for given_, expected in pairs]
    columns = {"inputs": [one for one, _ in pairs], "outputs": [one for _, one in pairs]}
    live = with_keys(tests, testtype="stdin")
    found = [
        suite({"prompt": "a", "tests": [{"stdin": one, "stdout": other} for one, other in pairs]}),
        suite({"problem": "a", "tests": json.dumps(tests)}),
        suite({"problem": "a", "tests": json.dumps(columns)}),
        suite({"question": "a", "input_output": json.dumps(columns)}),
        suite({**LIVE, "public_test_cases": json.dumps(live[:1]), "private_test_cases": packed(live[1:])}),
    ]
    assert all(one == found[0] for one in found)
    assert [(one.given, one.expected) for one in found[0].trials] == pairs


@given(st.lists(st.tuples(st.lists(VALUE, max_size=3), VALUE), min_size=1, max_size=4))
def test_the_same_calls_are_the_same_values_in_every_format(pairs):
    own = [{"arguments": arguments, "result": result} for arguments, result in pairs]
    lines = [
        {"input": "\n".join(map(json.dumps, arguments)), "output": json.dumps(result), "testtype": "functional"}
        for arguments, result in pairs
    ]
    apps = {"fn_name": "f", "inputs": [one for one, _ in pairs], "outputs": [one for _, one in pairs]}
    for cells in (
        {"prompt": "a", "entry": "f", "tests": own},
        {**LIVE, "public_test_cases": json.dumps(lines), "metadata": '{"func_name": "f"}'},
        {"question": "a", "input_output": json.dumps(apps)},
    ):
        trials = suite(cells).trials
        assert [(json.loads(one.given), json.loads(one.expected)) for one in trials] == pairs


@given(st.dictionaries(st.sampled_from(COLUMNS), VALUE | st.sampled_from(['{"inputs": [1]}', "[{}]", "[[]]"])))
def test_whatever_stands_in_a_row_it_is_a_problem_or_refused(cells):
    try:
        found = problem_of(row(cells))
    except InputError as error:
        assert "line 7" in str(error) and str(error).count("line 7") == 1
        return
    assert found.suite.trials and found.text


def test_parquet_and_arrow_folders_give_the_same_problems(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    datasets = pytest.importorskip("datasets")
    cells = [{**one, "solutions": "long", "url": "x"} for one in PROGRAMS[6:7] + PROGRAMS[5:6]]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cells))
    pq.write_table(pa.Table.from_pylist(cells), tmp_path / "set.parquet")
    datasets.Dataset.from_list(cells).save_to_disk(tmp_path / "folder")
    for name in ("set.jsonl", "set.parquet", "folder"):
        found = list(rows(str(tmp_path / name), (), any_of=COLUMNS))
        assert [problem_of(one).suite for one in found] == [SUM, SUM] and [one.line for one in found] == [1, 2]
    assert set(found[0].cells) == {"problem", "tests"}  # solutions can be as long as the tests
    pq.write_table(pa.Table.from_pylist([{"a": 1, "b": 2}]), tmp_path / "other.parquet")
    with pytest.raises(
        InputError, match=r"other.parquet: has none of the columns question_content, .*; it has a, b"
    ):
        list(rows(str(tmp_path / "other.parquet"), (), any_of=COLUMNS))
