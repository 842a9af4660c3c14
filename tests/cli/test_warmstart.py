"""A model fine-tuned on worked solutions."""

import json
import re
import shlex
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from scalerl.model.loading import folder_of, load_tokenizer
from scalerl.pipeline.warming import answer_tokens
from scalerl.recipe.sections import PromptFormat
from scalerl.records import Prompt
from scalerl.rollout.encoding import Encoder
from scalerl.tasks.chain import drawn
from scalerl.tasks.worked_chain import worked
from scalerl.trainer.examples import batches

torch.set_num_threads(1)
QUICK = ("--rate", "1e-3", "--batch", "8", "--device", "cpu")


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    questions = [drawn(int.from_bytes(random.bytes(16), "big"), (2, 4)).text for _ in range(32)]
    asked = [Prompt(id="", task="chain", text=text, answer=None) for text in questions]
    return [{"question": one.text, "solution": worked(one, "terse", random)} for one in asked]


@pytest.fixture
def written(tmp_path):
    def write(rows):
        path = tmp_path / "worked.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def warmed(scalerl, tmp_path):
    """Run the command; the folder it wrote and what it said."""

    def warm(model, data, *arguments, name="out"):
        result = scalerl("warmstart", model, data, "--out", tmp_path / name, *QUICK, *arguments)
        assert (result.code, result.out) == (0, ""), result.err
        return tmp_path / name, result.err

    return warm


def losses(said):
    return [float(one) for one in re.findall(r"loss (\d\.\d+)$", said, re.MULTILINE)]


def test_it_learns_the_form(warmed, written, rows):
    place, said = warmed("demo", written(rows), "--epochs", "4")
    found = losses(said)
    assert said.startswith("step 1 of 16, loss ") and found[-1] < found[0] / 2
    assert f"wrote {place}: 32 examples, 16 steps" in said
    assert not re.search("added to the tokenizer|left out", said)
    assert sorted(one.name for one in place.iterdir()) == sorted(one.name for one in folder_of("demo").iterdir())


def test_the_first_loss_is_the_cross_entropy_of_the_answers(warmed, written, rows):
    _, said = warmed("demo", written(rows), "--batch", "99")
    module, words = AutoModelForCausalLM.from_pretrained(folder_of("demo")), load_tokenizer("demo")
    total, count = 0.0, 0
    for row in rows:
        prompt, answer = (words(row[key])["input_ids"] for key in ("question", "solution"))
        with torch.no_grad():
            logits = module(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
        total += float(torch.nn.functional.cross_entropy(logits, torch.tensor(answer), reduction="sum"))
        count += len(answer)
    assert losses(said) == [pytest.approx(total / count, abs=1e-4)]


def test_the_order_follows_from_the_seed(warmed, written, rows):
    data = written(rows)
    weights = [
        load_file(warmed("demo", data, "--seed", seed, name=name)[0] / "model.safetensors")["model.norm.weight"]
        for seed, name in (("0", "a"), ("0", "b"), ("1", "c"))
    ]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_every_example_once_an_epoch_in_a_fresh_order():
    found = list(batches(list(range(10)), size=4, epochs=3, seed=0))  # pyright: ignore[reportArgumentType]
    assert [len(one) for one in found] == [4, 4, 2] * 3
    epochs = [[one for batch in found[at : at + 3] for one in batch] for at in (0, 3, 6)]
    assert all(sorted(one) == list(range(10)) for one in epochs) and epochs[0] != epochs[1] != epochs[2]


def test_an_answer_ends_with_one_end_token():
    encoder = Encoder(load_tokenizer("demo"), PromptFormat(chat_template=False))
    assert answer_tokens(encoder, "a 7 </think> 7").tolist() == [18, 12, 2, 12, 1]
    assert answer_tokens(encoder, "a 7 </think> 7 <end>").tolist() == [18, 12, 2, 12, 1]


@pytest.fixture
def untagged(tmp_path):
    """The demo's policy under a tokenizer that knows its tag by another name."""
    place = shutil.copytree(folder_of("demo"), tmp_path / "untagged")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (place / name).write_text((place / name).read_text().replace("</think>", "</thought>"))
    return place


def test_tags_are_added_and_reinforcement_can_begin(scalerl, warmed, written, rows, untagged, tmp_path):
    place, said = warmed(untagged, written(rows), "--think-open", "<think>")
    assert "<think>, </think>: added to the tokenizer, one token each" in said
    command = shlex.split(said.splitlines()[-1])
    assert said.splitlines()[-2].endswith("; train it with, for instance:")
    assert command[:3] == ["scalerl", "train", "scalerl"]
    assert scalerl(*command[1:], "--dry-run").out.count(f'path = "{place}"') == 1
    assert 'opening = "<think>"' in scalerl(*command[1:], "--dry-run").out
    words, module = AutoTokenizer.from_pretrained(place), AutoModelForCausalLM.from_pretrained(place)
    assert words("<think> </think>")["input_ids"] == [35, 36] and module.config.vocab_size == 37
    overrides = ("steps=1", f"model.path={place}", "prompt.opening=<think>", "batch.prompts=2", "batch.samples=2")
    overrides += ("evaluation.prompts=1", "evaluation.samples=1", "task.num_prompts=9", "runtime.device=cpu")
    words = [word for one in overrides for word in ("--set", one)]
    assert scalerl("train", "demo", "--plain", "--run", tmp_path / "run", *words).code == 0


def test_questions_go_through_the_chat_template_where_there_is_one(warmed, written, rows, tmp_path):
    place = shutil.copytree(folder_of("demo"), tmp_path / "chat")
    config = json.loads((place / "tokenizer_config.json").read_text())
    template = "{% for one in messages %}{{ one['content'] }} {% endfor %}"
    (place / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": template}))
    data = written(rows)
    first = [
        losses(warmed(place, data, "--batch", "99", *extra, name=name)[1])[0]
        for name, extra in (("a", ()), ("b", ("--system", "p p p")), ("c", ("--plain",)))
    ]
    assert first[0] == first[2] != first[1]


def test_thinking_and_answer_from_two_columns(warmed, written):
    one = {"q": "3 a + 4 ?", "steps": "a 7", "final": 7}
    place, _ = warmed("demo", written([one]), "--question", "q", "--solution", "steps", "--answer", "final")
    whole = {"question": "3 a + 4 ?", "solution": "a 7 </think> 7 <end>"}
    other, _ = warmed("demo", written([whole]), name="other")
    a, b = (load_file(folder / "model.safetensors") for folder in (place, other))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_too_long_examples_are_counted_and_left_out(warmed, written, rows):
    longest = max(len(f"{one['question']} {one['solution']}".split()) for one in rows)
    num = sum(len(f"{one['question']} {one['solution']}".split()) == longest for one in rows)
    _, said = warmed("demo", written(rows), "--max-tokens", str(longest - 1))
    assert f"{num} examples have more than {longest - 1} tokens and were left out" in said
    assert f"{32 - num} examples, " in said


def test_precision_of_the_file(warmed, written, rows):
    place, _ = warmed("demo", written(rows), "--dtype", "bfloat16")
    assert {one.dtype for one in load_file(place / "model.safetensors").values()} == {torch.bfloat16}


GOOD = {"question": "3 a + 4 ?", "solution": "a 7 </think> 7"}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"question": "3 ?"}, "has no 'solution'; it has question"),
        ({"question": "3 ?", "solution": "a 7"}, "has no '</think>' in 'solution', so thinking would never end"),
        ({"question": " ", "solution": "</think> 7"}, "has ' ' as 'question'; expected text"),
        ({"question": ["3"], "solution": "</think> 7"}, "has ['3'] as 'question'; expected text"),
    ],
)
def test_a_bad_line_is_named(refused, written, tmp_path, bad, said):
    path = written([GOOD, bad])
    assert f"{path}, line 2: {said}" in refused("warmstart", "demo", path, "--out", tmp_path / "out")
    assert not [one for one in tmp_path.iterdir() if one != path]


def test_a_broken_line_is_named(refused, written, tmp_path):
    path = written([GOOD])
    path.write_text(path.read_text() + "{")
    assert f"{path}, line 2: is broken JSON" in refused("warmstart", "demo", path, "--out", tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "0"], "--rate is '0'; expected a positive number such as 2e-5"),
        (["--epochs", "0.5"], "--epochs is '0.5'; expected a whole number, 1 or more"),
        (["--device", "tpu"], "--device is 'tpu'; expected one of auto, cpu, cuda"),
        (["--dtype", "int8"], "--dtype is 'int8'; expected one of auto, float32, bfloat16"),
        (["--max-tokens", "3"], "none of 1 examples has at most --max-tokens = 3 tokens"),
        (["--rate", "1e30", "--epochs", "9"], "nothing was written, try a lower --rate"),
    ],
)
def test_refusals(scalerl, written, tmp_path, arguments, said):
    path = written([GOOD])
    result = scalerl("warmstart", "demo", path, "--out", tmp_path / "out", *arguments)
    assert result.code == 2 and said in result.err.splitlines()[-1]
    assert not [one for one in tmp_path.iterdir() if one != path]


def test_places(refused, written, tmp_path):
    path = written([GOOD])
    assert "which exists already" in refused("warmstart", "demo", path, "--out", tmp_path)
    assert "there is no such file or folder" in refused("warmstart", "demo", "no.jsonl", "--out", tmp_path / "out")
    nothing = refused("warmstart", "nothing", path, "--out", tmp_path / "out")
    assert nothing == "error: MODEL is 'nothing'; there is no such folder or file"
    path.write_text("")
    assert "holds no worked solutions" in refused("warmstart", "demo", path, "--out", tmp_path / "out")
