"""A comparison of losses whose caps and clips never bind says that it tests nothing."""

import json

from scalerl.cli.loss_note import loss_notes


def made(folder, kind, shares):
    folder.mkdir()
    (folder / "recipe.toml").write_text(f'[loss]\nkind = "{kind}"\n')
    records = [{"step": 0, "eval/chain/pass_rate": 0.3}, *({"step": 1, "loss/capped_share": one} for one in shares)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(folder)


def test_it_speaks_where_losses_differ_and_no_cap_binds(tmp_path):
    idle, other = made(tmp_path / "a", "cispo", [0.0, 0.004]), made(tmp_path / "b", "dapo", [0.02, 0.04])
    (note,) = loss_notes([idle, other])
    assert "a 0.2%" in note and "b " not in note.split("(")[1].split(")")[0] and "off_policy.ahead" in note


def test_it_is_silent_otherwise(tmp_path):
    a, b = made(tmp_path / "a", "cispo", [0.0]), made(tmp_path / "b", "cispo", [0.0])
    c, d = made(tmp_path / "c", "cispo", [0.02]), made(tmp_path / "d", "dapo", [0.05])
    assert loss_notes([a, b]) == () and loss_notes([c, d]) == () and loss_notes([str(tmp_path / "x.csv")]) == ()
