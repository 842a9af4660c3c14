"""Rows come from every format alike, each with its place; what cannot be read is refused by file and line."""

import gzip
import json
from pathlib import Path

import pytest

from scalerl.errors import InputError
from scalerl.tasks.dataset import Row, rows

datasets = pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n), "level": n % 3} for n in range(7)]


def write_jsonl(path, found=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def read(path, columns=("question", "answer")):
    return [({name: row.cells[name] for name in columns}, row.line) for row in rows(str(path), columns)]


WANTED = [({"question": row["question"], "answer": row["answer"]}, number) for number, row in enumerate(ROWS, 1)]


def saved_to_disk(folder):
    datasets.Dataset.from_list(ROWS).save_to_disk(folder)


def a_parquet_file(path):
    pq.write_table(pa.Table.from_pylist(ROWS), path.with_suffix(".parquet"), row_group_size=3)
    return path.with_suffix(".parquet")


def a_hub_folder(folder):
    (folder / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "data" / "train-00000-of-00001.parquet")
    (folder / "README.md").write_text("a card")


def a_folder_of_lines(folder):
    folder.mkdir()
    write_jsonl(folder / "train.jsonl")


@pytest.mark.parametrize(
    "make",
    [
        saved_to_disk,
        a_parquet_file,
        a_hub_folder,
        a_folder_of_lines,
        lambda at: write_jsonl(at.with_suffix(".jsonl")),
    ],
)
def test_every_format_gives_the_same_rows(make, tmp_path):
    place = tmp_path / "data"
    assert read(make(place) or place) == WANTED


def test_shards_follow_the_order_that_the_dataset_names(tmp_path):
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "data", num_shards=3)
    found = read(tmp_path / "data")
    assert [cells for cells, _ in found] == [cells for cells, _ in WANTED]
    assert [line for _, line in found] == [1, 2, 3, 1, 2, 1, 2]


def test_a_shuffled_and_filtered_dataset_is_read_as_it_was_saved(tmp_path):
    data = datasets.Dataset.from_list(ROWS).shuffle(seed=1).filter(lambda row: row["level"] != 1)
    data.save_to_disk(tmp_path / "data")
    assert [cells["question"] for cells, _ in read(tmp_path / "data")] == data["question"][:]


def test_a_pattern_names_one_split(tmp_path):
    for name, part in (("train-0.jsonl", ROWS[:3]), ("train-1.jsonl", ROWS[3:5]), ("test-0.jsonl", ROWS[5:])):
        write_jsonl(tmp_path / name, part)
    assert [cells["answer"] for cells, _ in read(tmp_path / "train-*.jsonl")] == ["0", "2", "4", "6", "8"]
    with pytest.raises(InputError, match=r"several splits: test, train; name the files, such as .*train\*"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"question": "a", "answer": 1}\n\n{"question": ', 3, "broken JSON"),
        ('{"question": "a", "answer": 1}\n[1, 2]\n', 2, "no JSON object"),
        ('{"question": "a"}\n{"question": "\x00"}\n', 2, "zero bytes"),
        ("[" * 100_000, 1, "broken JSON"),
    ],
)
def test_a_broken_line_is_named(text, line, message, tmp_path):
    file = tmp_path / "data.jsonl"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"data.jsonl, line {line}: .*{message}"):
        list(rows(str(file), ["question"]))


def test_what_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere: there is no such file or folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"nothing-\*.jsonl: there is no such file"):
        read(tmp_path / "nothing-*.jsonl")
    with pytest.raises(InputError, match="holds no dataset"):
        read(tmp_path)
    (tmp_path / "rows.csv").write_text("question,answer\n")
    with pytest.raises(InputError, match=r"rows.csv: is of no kind .* expected .jsonl"):
        read(tmp_path / "rows.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but nothing else")
    with pytest.raises(InputError, match=r"broken.parquet: cannot be read as .parquet"):
        read(tmp_path / "broken.parquet")
    (tmp_path / "broken.arrow").write_bytes(gzip.compress(b"no arrow"))
    with pytest.raises(InputError, match=r"broken.arrow: cannot be read as .arrow"):
        read(tmp_path / "broken.arrow")


def test_a_folder_of_splits_or_of_several_kinds_is_refused(tmp_path):
    data = datasets.Dataset.from_list(ROWS)
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "both")
    with pytest.raises(InputError, match="holds the splits test, train; name one of them"):
        read(tmp_path / "both")
    assert read(tmp_path / "both" / "train") == WANTED
    a_folder_of_lines(tmp_path / "mixed")
    a_parquet_file(tmp_path / "mixed" / "more")
    with pytest.raises(InputError, match="several kinds of files"):
        read(tmp_path / "mixed")


def test_a_damaged_saved_dataset_is_refused(tmp_path):
    saved_to_disk(tmp_path / "data")
    (tmp_path / "data" / "data-00000-of-00001.arrow").unlink()
    with pytest.raises(InputError, match=r"data-00000-of-00001.arrow: is missing from the dataset"):
        read(tmp_path / "data")
    (tmp_path / "data" / "state.json").write_text("{}")
    with pytest.raises(InputError, match=r"state.json: is no state of a Hugging Face dataset"):
        read(tmp_path / "data")


@pytest.mark.parametrize("make", [saved_to_disk, a_parquet_file])
def test_a_missing_column_is_named_with_those_there_are(make, tmp_path):
    place = make(tmp_path / "data") or tmp_path / "data"
    with pytest.raises(InputError, match="has no column 'problem'; its columns are question, answer, level"):
        read(place, ["problem"])


def test_cells_as_text():
    cells = {"a": " x ", "b": 7, "c": 1e-07, "d": 10**400, "half": "x\ud800", "nan": float("nan"), "yes": True}
    row = Row(cells=cells, file=Path("set.jsonl"), line=7)
    assert [row.text(one) for one in "abcd"] == ["x", "7", "0.0000001", f"1{'0' * 400}"]
    for column, problem in (
        ("half", "has text in 'half' that is no UTF-8; expected no half of a character"),
        ("nan", "has nan as 'nan'; expected text or a number"),
        ("yes", "has True as 'yes'; expected text or a number"),
        ("gone", "has no 'gone'"),
    ):
        with pytest.raises(InputError, match=f"set.jsonl, line 7: {problem}"):
            row.text(column)
