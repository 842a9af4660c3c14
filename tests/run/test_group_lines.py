import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from scalerl.errors import InputError
from scalerl.records import Group, Prompt, Rollout, Verdict
from scalerl.run import Run, group_lines, group_of, group_record, read_groups

TEXT = st.text(max_size=8)
SCORES = st.floats()
INT32 = {"min_value": -(2**31), "max_value": 2**31 - 1}
ANSWERS = (
    st.none() | TEXT | st.integers() | st.lists(st.integers(), max_size=3) | st.dictionaries(TEXT, TEXT, max_size=2)
)


VERDICTS = st.builds(Verdict, score=SCORES, passed=st.booleans(), error=TEXT, kind=TEXT, reason=TEXT)


@st.composite
def rollouts(draw):
    length = draw(st.integers(0, 12))
    return Rollout(
        tokens=draw(arrays.arrays(np.int32, length)),
        behavior=draw(arrays.arrays(np.float32, length)),
        versions=draw(arrays.arrays(np.int32, length, elements=st.integers(0, 2))),
        is_trainable=draw(arrays.arrays(np.bool_, length)),
        ending=draw(st.sampled_from(["stopped", "truncated"])),
        is_interrupted=draw(st.booleans()),
        text=draw(TEXT),
        verdict=draw(st.none() | VERDICTS),
        reward=draw(SCORES),
    )


GROUPS = st.builds(
    Group,
    prompt=st.builds(Prompt, id=TEXT, task=TEXT, text=TEXT, answer=ANSWERS, difficulty=TEXT),
    prompt_tokens=arrays.arrays(np.int32, st.integers(0, 5)),
    rollouts=st.lists(rollouts(), max_size=3).map(tuple),
    admission=st.integers(0, 2**60),
    admitted_version=st.integers(0, 2**31 - 1),
)


def same(one, other):
    """Equal to the bit, type for type; any NaN equals any other."""
    if dataclasses.is_dataclass(one):
        pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
        return type(one) is type(other) and all(same(a, b) for a, b in pairs)
    if isinstance(one, np.ndarray):
        equal = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        signs = (
            np.array_equal(np.signbit(one)[one == 0], np.signbit(other)[one == 0])
            if one.dtype.kind == "f"
            else True
        )
        return one.dtype == other.dtype and one.shape == other.shape and equal and signs
    if isinstance(one, tuple):
        return type(other) is tuple and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return type(one) is type(other) and one == other


@given(GROUPS)
def test_a_group_comes_back_to_the_bit(group):
    assert same(group_of(group_record(group)), group)
    line = group_lines([group])
    assert line.count(b"\n") == 1
    assert same(group_of(json.loads(line, parse_constant=lambda word: pytest.fail(word))), group)


def one_group():
    rollout = Rollout(
        tokens=np.array([5, 6, 7, 8], np.int32),
        behavior=np.array([-0.1, 0, 0, -math.inf], np.float32),
        versions=np.array([3, 3, 3, 4], np.int32),
        is_trainable=np.array([True, False, False, True]),
        ending="stopped",
        is_interrupted=True,
        text="7",
    )
    prompt = Prompt(id="chain/1", task="chain", text="3+4", answer=7)
    return Group(
        prompt=prompt, prompt_tokens=np.array([1], np.int32), rollouts=(rollout,), admission=9, admitted_version=3
    )


def test_the_record_by_hand():
    record = group_record(one_group())
    assert record["prompt"] == {"id": "chain/1", "task": "chain", "text": "3+4", "answer": 7, "difficulty": ""}
    rollout = record["rollouts"][0]
    assert rollout["versions"] == [[3, 3], [4, 1]] and rollout["is_trainable"] == [[True, 1], [False, 2], [True, 1]]
    assert rollout["behavior"] == [float(np.float32(-0.1)), 0.0, 0.0, "-inf"]
    assert rollout["reward"] is None and rollout["verdict"] is None


def test_every_float32_exponent_survives():
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    behavior = bits.view(np.float32)
    rollout = dataclasses.replace(one_group().rollouts[0], behavior=behavior)
    group = dataclasses.replace(one_group(), rollouts=(rollout,))
    found = group_of(json.loads(group_lines([group]))).rollouts[0].behavior
    is_number = ~np.isnan(behavior)
    assert np.array_equal(found.view(np.uint32)[is_number], bits[is_number]) and np.isnan(found[~is_number]).all()


def test_recorded_rollouts_are_read_and_a_cut_file_is_named(tmp_path):
    with Run.create(tmp_path / "run", "") as run:
        run.write_file("rollouts/step-000010.jsonl", group_lines([one_group(), one_group()]))
    path = tmp_path / "run/rollouts/step-000010.jsonl"
    assert [same(group, one_group()) for group in read_groups(path)] == [True, True]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"step-000010.jsonl, line 2: is no recorded group; was the file cut off"):
        read_groups(path)
    with pytest.raises(InputError, match="is not there"):
        read_groups(path.with_name("step-000020.jsonl"))


def test_a_verdict_of_before_there_were_kinds_has_none():
    judged = dataclasses.replace(one_group().rollouts[0], verdict=Verdict(score=0.0, passed=False, kind="time"))
    group = dataclasses.replace(one_group(), rollouts=(judged,))
    record = group_record(group)
    assert record["rollouts"][0]["verdict"]["kind"] == "time" and group_of(record).verdict_kinds == {"time": 1}
    del record["rollouts"][0]["verdict"]["kind"]
    assert group_of(record).rollouts[0].verdict == Verdict(score=0.0, passed=False)
    assert group_of(record).verdict_kinds == {}
