import errno
import json
import subprocess
import sys

import pytest

from scalerl.errors import InputError
from scalerl.run import Run, WriteError


@pytest.fixture
def run(tmp_path):
    with Run.create(tmp_path / "run", "seed = 1\n") as run:
        yield run


def holding(text):
    def fill(folder):
        (folder / "model").mkdir()
        (folder / "model/weights").write_text(text)
        (folder / "state.json").write_text("{}")

    return fill


def names(run):
    return sorted(path.name for path in (run.path / "checkpoints").iterdir())


def weights(checkpoint):
    return (checkpoint.path / "model/weights").read_text()


def test_the_manifest_by_hand(run):
    run.append("evals.jsonl", {"a": 1})  # {"a": 1} and an end of line: 9 bytes
    run.checkpoint(100, holding("abc"))
    found = json.loads((run.path / "checkpoints/step-000100/manifest.json").read_text())
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of the standard
    assert found["format"] == 1 and found["step"] == 100 and found["logs"] == {"evals.jsonl": 9}
    assert found["files"]["model/weights"] == {"size": 3, "sha256": abc}
    assert set(found["files"]) == {"model/weights", "state.json"}
    latest = run.latest_checkpoint()
    assert (latest.step, latest.path, latest.warnings) == (100, run.path / "checkpoints/step-000100", ())
    assert latest.manifest.logs == {"evals.jsonl": 9} and latest.manifest.files["model/weights"].size == 3


def test_there_is_none_at_first(run):
    assert run.latest_checkpoint() is None


def test_the_newest_are_kept(run):
    for step in (1, 2, 3, 999_999, 1_000_000):
        run.checkpoint(step, holding(str(step)), keep=2)
    assert names(run) == ["step-1000000", "step-999999"] and weights(run.latest_checkpoint()) == "1000000"
    run.checkpoint(1_000_001, holding("x"), keep=1)
    assert names(run) == ["step-1000001"]
    with pytest.raises(ValueError, match="keep is 0; expected 1 or more"):
        run.checkpoint(1_000_002, holding("y"), keep=0)


def test_a_damaged_one_does_not_count_among_those_kept(run):
    for step in (1, 2):
        run.checkpoint(step, holding(str(step)))
    (run.path / "checkpoints/step-000002/model/weights").unlink()
    run.checkpoint(3, holding("3"), keep=2)
    assert names(run) == ["step-000001", "step-000002", "step-000003"]
    run.checkpoint(4, holding("4"), keep=2)
    assert names(run) == ["step-000003", "step-000004"]


def test_the_one_just_written_stays_below_a_later_one(run):
    run.checkpoint(9, holding("9"))
    run.checkpoint(5, holding("5"), keep=1)
    assert names(run) == ["step-000005", "step-000009"]


def test_a_checkpoint_is_replaced(run):
    run.checkpoint(1, holding("old"))
    run.checkpoint(1, holding("new"))
    assert names(run) == ["step-000001"] and weights(run.latest_checkpoint()) == "new"


def test_a_kill_between_the_two_renames_of_a_replacement_loses_nothing(run):
    run.checkpoint(1, holding("old"))
    folder = run.path / "checkpoints"
    (folder / "step-000001").rename(folder / ".step-000001.old.tmp")
    run.close()
    with Run.open(run.path) as again:
        assert names(again) == ["step-000001"] and weights(again.latest_checkpoint()) == "old"


def test_what_a_kill_left_is_swept_away_and_never_read(run):
    run.checkpoint(1, holding("1"))
    run.write_file("evals/step-000001.jsonl", b"")
    for name in (".step-000002.tmp", ".step-000001.old.tmp", ".step-000000.gone.tmp"):
        (run.path / "checkpoints" / name).mkdir()
        (run.path / "checkpoints" / name / "part").write_text("half")
    (run.path / ".recipe.toml.tmp").write_text("half")
    (run.path / "evals/.step-000002.jsonl.tmp").write_text("half")
    assert Run.read(run.path).latest_checkpoint().step == 1
    run.close()
    with Run.open(run.path) as again:
        assert names(again) == ["step-000001"] and weights(again.latest_checkpoint()) == "1"
    assert not list(run.path.rglob(".*"))


def damaged(run, change):
    for step in (1, 2):
        run.checkpoint(step, holding("abc"))
    change(run.path / "checkpoints/step-000002")
    return run.latest_checkpoint()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda at: (at / "model/weights").write_text("abd"),
            "model/weights: has other content than when it was written",
        ),
        (lambda at: (at / "model/weights").write_text("ab"), "model/weights: has 2 bytes; expected 3"),
        (lambda at: (at / "model/weights").unlink(), "model/weights: is missing"),
        (lambda at: (at / "manifest.json").unlink(), "manifest.json: is missing"),
        (lambda at: (at / "manifest.json").write_text('{"format": 1, "st'), "manifest.json: is no manifest"),
        (lambda at: (at / "manifest.json").write_text("[]"), "manifest.json: is no manifest"),
        (lambda at: (at / "manifest.json").write_text('{"format": 2}'), "'format' is 2; this version reads 1"),
    ],
)
def test_a_damaged_newest_is_named_and_the_one_before_used(run, change, words):
    latest = damaged(run, change)
    assert latest.step == 1 and len(latest.warnings) == 1
    assert words in latest.warnings[0] and latest.warnings[0].endswith("the checkpoint of step 1 is used instead")


def test_a_run_is_not_begun_anew_over_damaged_checkpoints(run):
    run.checkpoint(1, holding("1"))
    (run.path / "checkpoints/step-000001/model/weights").unlink()
    with pytest.raises(
        InputError, match=r"holds no whole checkpoint \(.*weights: is missing\); move the folder away"
    ):
        run.latest_checkpoint()


def test_a_full_disk_leaves_the_one_before_and_says_so(run):
    run.checkpoint(1, holding("1"))

    def fill(folder):
        (folder / "part").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(WriteError) as error:
        run.checkpoint(2, fill)
    words = "the checkpoint of step 2 cannot be written (No space left on device); that of step 1 is whole"
    assert words in str(error.value) and "\n" not in str(error.value)
    assert names(run) == ["step-000001"] and weights(run.latest_checkpoint()) == "1"


def test_a_failed_replacement_leaves_the_old_one(run):
    run.checkpoint(1, holding("old"))

    def fill(folder):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.checkpoint(1, fill)
    assert names(run) == ["step-000001"] and weights(run.latest_checkpoint()) == "old"


def test_an_error_that_is_not_the_disks_stays_what_it_is(run):
    def fill(folder):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug") as error:
        run.checkpoint(1, fill)
    assert type(error.value) is RuntimeError and names(run) == []


def test_a_manifest_of_its_own_is_refused(run):
    with pytest.raises(ValueError, match=r"may not hold a manifest.json of its own"):
        run.checkpoint(1, lambda folder: (folder / "manifest.json").write_text("{}"))
    assert names(run) == []


SMALL_DISK = """
import resource, sys
from scalerl.run import Run, WriteError
def like_torch(folder):
    try:
        (folder / "weights").write_bytes(b"x" * 5000)
    except OSError:
        raise RuntimeError("unexpected pos 640 vs 534") from None
run = Run.create(sys.argv[1], "")
run.checkpoint(1, lambda folder: (folder / "weights").write_bytes(b"x" * 1000))
run.append("metrics.jsonl", {"a": "x" * 3000})
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for attempt in (
    lambda: run.append("metrics.jsonl", {"a": "x" * 3000}),
    lambda: run.write_file("evals/step-000002.jsonl", b"x" * 5000),
    lambda: run.checkpoint(2, lambda folder: (folder / "weights").write_bytes(b"x" * 5000)),
    lambda: run.checkpoint(3, like_torch),
):
    try:
        attempt()
    except WriteError as error:
        print(error)
run.append("metrics.jsonl", {"a": "y"})
"""


def test_files_that_the_disk_takes_only_half_of(tmp_path):
    command = [sys.executable, "-c", SMALL_DISK, str(tmp_path / "run")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 4 and all("cannot be written (File too large)" in line for line in said)
    assert "metrics.jsonl" in said[0] and "step-000002.jsonl" in said[1] and "that of step 1 is whole" in said[2]
    assert "the checkpoint of step 3" in said[3] and "that of step 1 is whole" in said[3]
    run = Run.read(tmp_path / "run")
    assert run.latest_checkpoint().step == 1
    assert [len(record["a"]) for record in run.records("metrics.jsonl")] == [3000, 1]
    assert (run.path / "metrics.jsonl").read_bytes().endswith(b"}\n")
    assert not list(run.path.rglob(".*")) and not list((run.path / "evals").iterdir())
