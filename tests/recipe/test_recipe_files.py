"""Paths in recipes, and files that are no recipes."""

import pytest
from recipe_texts import refusal, write

from scalerl.errors import InputError
from scalerl.recipe.reading import from_mapping, load
from scalerl.recipe.recipe import Recipe
from scalerl.recipe.tasks import Code, Maths, Python

# paths


def test_paths_are_relative_to_the_file_that_states_them(folder):
    text = '[model]\npath = "m"\n[task]\nkind = "maths"\npath = "../train.jsonl"\nheld_out_path = "test.jsonl"'
    write(folder / "sub" / "parent.toml", text)
    write(folder / "child.toml", 'extends = "sub/parent.toml"\n[task]\nheld_out_path = "test.jsonl"')
    recipe = load("child.toml")
    assert recipe.model.path == str(folder / "sub" / "m")
    assert recipe.task == Maths(path=str(folder / "train.jsonl"), held_out_path=str(folder / "test.jsonl"))


def test_paths_of_tasks_of_your_own_keep_their_class(folder):
    write(folder / "sub" / "a.toml", '[task]\nkind = "python"\npath = "my.py:Mine"')
    assert load("sub/a.toml").task == Python(path=f"{folder}/sub/my.py:Mine")


def test_paths_inside_a_mixture(folder):
    part = '[[task.parts]]\nname = "{0}"\ntask = {{ kind = "maths", path = "{0}.jsonl" }}\n'
    write(folder / "sub" / "a.toml", '[task]\nkind = "mixture"\n' + part.format("p") + part.format("q"))
    parts = load("sub/a.toml").task.parts
    assert [part.task.path for part in parts] == [f"{folder}/sub/p.jsonl", f"{folder}/sub/q.jsonl"]


def test_paths_of_problems_are_relative_to_the_file_too(folder):
    write(folder / "a" / "a.toml", '[task]\nkind = "code"\npath = "../train.jsonl"\nheld_out_path = "test.jsonl"')
    assert load("a/a.toml").task == Code(
        path=str(folder / "train.jsonl"), held_out_path=str(folder / "a/test.jsonl")
    )


def test_demo_empty_and_absolute_paths_stay(folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    for stated, path in {
        "demo": "demo",
        "": "",
        "/a/b": "/a/b",
        "~/b": "/home/me/b",
        "./demo": f"{folder}/demo",
    }.items():
        assert load(write(folder / "a.toml", f'[model]\npath = "{stated}"')).model.path == path
    write(folder / "b.toml", '[task]\nkind = "maths"\npath = "demo"')
    assert load("b.toml").task.path == str(folder / "demo")


def test_what_cannot_be_a_path_is_refused(folder):
    write(folder / "a.toml", '[model]\npath = "a\\u0000b"')
    assert refusal("a.toml").startswith("a.toml, line 2: model.path is no path")


def test_a_mapping_without_a_file_keeps_its_paths():
    assert from_mapping({"model": {"path": "a/b"}}).model.path == "a/b"
    assert from_mapping({"model": {"path": "a/b"}}, "/x/r.toml").model.path == "/x/a/b"
    assert from_mapping({"extends": "grpo", "seed": 5}).loss.kind == "grpo"
    with pytest.raises(InputError, match=r"^/x/r\.toml: unknown key sed; did you mean seed\?$"):
        from_mapping({"sed": 1}, "/x/r.toml")
    with pytest.raises(InputError, match=r"^unknown key sed"):
        from_mapping({"sed": 1})


# files that are none


def test_a_missing_file_lists_the_shipped_recipes(folder):
    message = "nowhere.toml is not there; expected a TOML file or a shipped recipe: "
    assert refusal("nowhere.toml") == message + "scalerl, baseline, grpo, dapo, magistral, minimax, demo, code-demo"
    assert "is not there" in refusal("\0")


def test_a_folder_is_no_recipe(folder):
    (folder / "a.toml").mkdir()
    assert refusal("a.toml").startswith("a.toml is a folder; expected a TOML file")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seed = 1\nsteps 3\n", 2),
        ("seed = 1\nseed = 2\n", 2),
        ("[loss\n", 1),
        ("\n\n[loss]\nkind = cispo\n", 4),
        ("seed = 1\nsteps =", 2),
        ('[loss]\nkind = "cis\n', 2),
        ("\nprompt = {", 2),
    ],
)
def test_broken_toml_names_the_line(folder, text, line):
    write(folder / "a.toml", text)
    assert refusal("a.toml").startswith(f"a.toml, line {line}: not valid TOML: ")
    assert "(at" not in refusal("a.toml")


def test_broken_toml_in_what_a_file_extends(folder):
    write(folder / "parent.toml", "x")
    write(folder / "child.toml", 'extends = "parent.toml"')
    assert refusal("child.toml").startswith("parent.toml, line 1: not valid TOML")


def test_bytes_that_are_no_text_and_depth_without_end(folder):
    (folder / "a.toml").write_bytes(b"\xff\xfe\x00")
    assert refusal("a.toml") == "a.toml: is not UTF-8 text; expected a TOML file"
    write(folder / "b.toml", "seed = " + "[" * 5_000)
    assert refusal("b.toml") == "b.toml: not valid TOML: nested too deeply"


def test_a_byte_order_mark_is_no_error(folder):
    (folder / "a.toml").write_bytes(b"\xef\xbb\xbfseed = 4")
    assert load("a.toml") == Recipe(seed=4)
