"""Whatever stands in a file, reading it gives a curve or an InputError."""

import json
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalerl.errors import InputError
from scalerl.readers import read, read_all
from scalerl.scaling.curve import Curve

KEYS = ("step", "_step", "compute", "value", "n", "tokens", "data", "pass_rate", "task", "eval_reward")
KEYS += ("val-core/a/acc/mean@4", "timing_s/step", "timing_s/testing", "perf/throughput", "num_tokens")
KEYS += ("perf/total_num_tokens", "test/env/all/correct", "time/total", "log_history", "gpu_hours", "prompt")
NAMES = ("a.csv", "a.jsonl", "a.json", "a.log", "a", "evals.jsonl", "trainer_state.json", "events.tfevents.1")

json_cells = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
likely = st.integers(0, 5) | st.floats(0, 1) | json_cells
records = st.lists(st.dictionaries(st.sampled_from(KEYS), likely, max_size=8), max_size=8)
cells = st.sampled_from(["0", "1", "2", "0.5", "nan", "", "x", "-1", "1e999", '"', "#"])
csv_rows = st.lists(st.lists(cells | st.sampled_from(KEYS), min_size=1, max_size=4), max_size=8)
options = st.fixed_dictionaries(
    {},
    optional={
        "unit": st.sampled_from(["flops", "steps"]),
        "compute_column": st.sampled_from(KEYS),
        "value_column": st.sampled_from(KEYS),
        "value_range": st.just((-2.0, 2.0)),
        "gpus": st.just(8),
        "model_size": st.just(1e9),
        "task": st.just("a"),
    },
)


def reads(contents: bytes, name: str, choices: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(contents)
        for target in (path, path.parent):
            try:
                assert all(isinstance(found, Curve) for found in read_all(target, **choices))
                assert isinstance(read(target, **choices), Curve)
            except InputError as error:
                assert str(error)


@given(st.binary(max_size=300), st.sampled_from(NAMES), options)
def test_bytes(contents, name, choices):
    reads(contents, name, choices)


@given(st.text(max_size=200), st.sampled_from(NAMES), options)
def test_text(contents, name, choices):
    reads(contents.encode(errors="surrogatepass"), name, choices)


@given(records, st.sampled_from(NAMES), options, st.integers(0, 9), st.booleans())
def test_json_lines(found, name, choices, num_cut, is_wrapped):
    lines = [{"step": index, "data": record} if is_wrapped else record for index, record in enumerate(found)]
    text = "\n".join(json.dumps(line) for line in lines)
    reads(text[: len(text) - num_cut].encode(), name, choices)


@given(json_cells | st.fixed_dictionaries({"log_history": records}), st.sampled_from(NAMES), options)
def test_whole_json(found, name, choices):
    reads(json.dumps(found, indent=1).encode(), name, choices)


@given(csv_rows, st.sampled_from(NAMES), options, st.booleans())
def test_csv(rows, name, choices, has_unit):
    text = "\n".join(",".join(row) for row in rows)
    head = "# unit: steps\ncompute,value,n\n" if has_unit else ""
    reads((head + text).encode(), name, choices)


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), cells, max_size=5), max_size=8), options)
def test_console_lines(steps, choices):
    lines = (f"step:{n} - " + " - ".join(f"{k}:{v}" for k, v in step.items()) for n, step in enumerate(steps))
    reads("\n".join(lines).encode(), "a.log", choices)


@given(st.lists(st.binary(max_size=40), max_size=6), options)
def test_event_frames(payloads, choices):
    frames = [struct.pack("<QI", len(payload), 0) + payload + bytes(4) for payload in payloads]
    reads(b"".join(frames), "events.out.tfevents.1", choices)


def test_a_folder_where_a_file_should_be(tmp_path):
    (tmp_path / "evals.jsonl").mkdir()
    (tmp_path / "trainer_state.json").mkdir()
    (tmp_path / "checkpoint-1" / "trainer_state.json").mkdir(parents=True)
    (tmp_path / "a.jsonl").mkdir()
    for path in (tmp_path, tmp_path / "evals.jsonl"):
        with pytest.raises(InputError):
            read(path)
