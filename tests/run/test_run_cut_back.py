import pytest

from scalerl.run import Run


@pytest.fixture
def run(tmp_path):
    """Two steps, a checkpoint, two more steps and half a line."""
    with Run.create(tmp_path / "run", "seed = 1\n") as run:
        for step in (1, 2, 3, 4):
            run.append("metrics.jsonl", {"step": step})
            run.write_file(f"rollouts/step-{step:06d}.jsonl", b"%d\n" % step)
            if step == 2:
                run.append("evals.jsonl", {"step": 2})
                run.write_file("evals/step-000002.jsonl", b"2\n")
                run.checkpoint(2, lambda folder: None)
        run.append("forecasts.jsonl", {"step": 4})
        run.append("evals.jsonl", {"step": 4})
        run.write_file("evals/step-000004.jsonl", b"4\n")
        with (run.path / "metrics.jsonl").open("a") as torn:
            torn.write('{"st')
        yield run


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_logs_end_where_they_stood_and_tails_are_kept(run):
    cut = run.cut_back(run.latest_checkpoint())
    found = tree(run.path)
    assert found["metrics.jsonl"] == '{"step": 1}\n{"step": 2}\n' and found["evals.jsonl"] == '{"step": 2}\n'
    assert found["aside/metrics.jsonl.1"] == '{"step": 3}\n{"step": 4}\n{"st'
    assert found["aside/evals.jsonl.1"] == found["aside/forecasts.jsonl.1"] == '{"step": 4}\n'
    assert "forecasts.jsonl" not in found  # it did not exist then
    assert cut.warnings == () and cut.aside["metrics.jsonl"] == run.path / "aside/metrics.jsonl.1"


def test_files_of_later_steps_go_aside(run):
    cut = run.cut_back(run.latest_checkpoint())
    found = tree(run.path)
    assert {name for name in found if name.startswith(("evals/", "rollouts/"))} == {
        "evals/step-000002.jsonl",
        "rollouts/step-000001.jsonl",
        "rollouts/step-000002.jsonl",
    }
    assert (
        found["aside/evals/step-000004.jsonl.1"] == "4\n" and found["aside/rollouts/step-000003.jsonl.1"] == "3\n"
    )
    assert cut.aside["evals/step-000004.jsonl"] == run.path / "aside/evals/step-000004.jsonl.1"
    assert len(cut.aside) == 6  # three logs, steps 3 and 4 of the rollouts, step 4 of the evaluations


def test_cutting_again_changes_nothing(run):
    run.cut_back(run.latest_checkpoint())
    before = tree(run.path)
    assert run.cut_back(run.latest_checkpoint()).aside == {} and tree(run.path) == before


def test_a_second_tail_does_not_replace_the_first(run):
    run.cut_back(run.latest_checkpoint())
    run.append("metrics.jsonl", {"step": 33})
    run.cut_back(run.latest_checkpoint())
    found = tree(run.path)
    assert found["aside/metrics.jsonl.2"] == '{"step": 33}\n' and found["aside/metrics.jsonl.1"].endswith('{"st')
    assert found["metrics.jsonl"] == '{"step": 1}\n{"step": 2}\n'


def test_without_a_checkpoint_everything_goes_aside(run):
    before = tree(run.path)
    run.cut_back(None)
    found = tree(run.path)
    assert {name for name in found if not name.startswith("aside/")} == {"lock", "recipe.toml"}
    moved = {
        name.removeprefix("aside/").removesuffix(".1"): text
        for name, text in found.items()
        if name.startswith("aside/")
    }
    steps = {name: text for name, text in before.items() if not name.startswith("checkpoints/")}
    assert {**moved, "lock": before["lock"], "recipe.toml": before["recipe.toml"]}.keys() >= steps.keys()
    assert all(moved[name] == text for name, text in steps.items() if name not in ("lock", "recipe.toml"))


def test_a_later_damaged_checkpoint_goes_aside_so_that_no_later_resume_meets_it(run):
    run.checkpoint(4, lambda folder: (folder / "weights").write_text("abc"))
    (run.path / "checkpoints/step-000004/weights").write_text("abd")
    older = run.latest_checkpoint()
    assert older.step == 2
    run.cut_back(older)
    assert run.latest_checkpoint().warnings == ()
    assert (run.path / "aside/checkpoints/step-000004.1/weights").read_text() == "abd"


def test_a_log_that_someone_shortened_goes_on_after_its_last_whole_line(run):
    (run.path / "metrics.jsonl").write_text('{"step": 1}\n{"ste')
    cut = run.cut_back(run.latest_checkpoint())
    assert (run.path / "metrics.jsonl").read_text() == '{"step": 1}\n'
    assert (run.path / "aside/metrics.jsonl.1").read_text() == '{"ste'
    assert cut.warnings == ("metrics.jsonl is shorter than at the checkpoint: it goes on after its first 12 bytes",)


def test_a_log_that_someone_edited_is_cut_at_a_line(run):
    (run.path / "metrics.jsonl").write_text('{"step": 1, "note": "mine"}\n{"step": 2}\n')
    cut = run.cut_back(run.latest_checkpoint())
    assert (run.path / "metrics.jsonl").read_text() == ""
    assert (run.path / "aside/metrics.jsonl.1").read_text() == '{"step": 1, "note": "mine"}\n{"step": 2}\n'
    assert "is not what it was at the checkpoint: it goes on after its first 0 bytes" in cut.warnings[0]


def test_a_log_that_someone_removed_is_named(run):
    (run.path / "evals.jsonl").unlink()
    assert run.cut_back(run.latest_checkpoint()).warnings == ("evals.jsonl is gone: 12 bytes of it are lost",)
