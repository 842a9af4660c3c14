"""A checkpoint as a folder that transformers loads by itself."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from scalerl.cli import run
from scalerl.model.loading import folder_of
from scalerl.pipeline.parts import parts_of
from scalerl.pipeline.running import recipe_of
from scalerl.run import Run

TOKENS = torch.tensor([[11, 18, 15, 11, 19, 17, 7, 3, 18, 12, 2, 12]])
SMALL = {
    "vocab_size": 35, "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 12, "eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None,
}  # fmt: skip
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1}
SHAPES = {
    "qwen3 tied": ("Qwen3", {"tie_word_embeddings": True}),
    "llama untied": ("Llama", {"tie_word_embeddings": False}),
    "experts": ("Qwen3Moe", {"tie_word_embeddings": False, **EXPERTS}),
    "router with a bias": ("Glm4Moe", {"tie_word_embeddings": False, "n_group": 1, "topk_group": 1, **ROUTED}),
}


def made(kind, changes, place):
    """A model of random weights with the demo's tokenizer."""
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**SMALL, **changes)
    module = getattr(transformers, f"{kind}ForCausalLM")(config)
    for name, one in module.named_buffers():
        if name.endswith("e_score_correction_bias"):
            one.copy_(torch.tensor([0.3, 0.0, -0.3, 0.1]))
    module.save_pretrained(place)
    for file in folder_of("demo").glob("tokenizer*"):
        shutil.copy(file, place)
    return place


def train(model, place, *overrides):
    chosen = ("steps=1", "batch.prompts=2", "batch.samples=4", "task.num_prompts=20", "evaluation.prompts=1")
    chosen += (
        "evaluation.samples=1",
        "length.think_tokens=[3,4]",
        "optimizer.warmup_steps=0",
        "optimizer.rate=0.01",
    )
    chosen += (
        "objective.truncated=keep",
        "runtime.device=cpu",
        f"model.path={model}",
        'reward="random"',
        *overrides,
    )
    words = [word for one in chosen for word in ("--set", one)]
    assert run(["train", "demo", "--plain", "--run", str(place), *words]) == 0
    return place


def logits_of_the_run(place):
    """The trainer's weights by the way that a resume takes."""
    source = Run.read(place)
    parts = parts_of(recipe_of(source))
    checkpoint = source.latest_checkpoint()
    parts.trainer.load(checkpoint.path)
    with torch.no_grad():
        return parts.policy.logits(parts.policy.hidden(TOKENS)[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_transformers_computes_the_logits_of_the_run(scalerl, tmp_path, shape):
    place = train(made(*SHAPES[shape], tmp_path / "model"), tmp_path / "run")
    assert scalerl("export", place, "--out", tmp_path / "out").code == 0
    module = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert module.config._attn_implementation == "sdpa"
    with torch.no_grad():
        theirs = module(TOKENS).logits[0]
    torch.testing.assert_close(theirs, logits_of_the_run(place), rtol=1e-4, atol=1e-5)
    begun = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert not torch.allclose(begun(TOKENS).logits[0], theirs, atol=1e-3), "the run has learned nothing"


def test_the_weights_are_the_masters_and_tied_ones_stand_once(scalerl, trained, tmp_path):
    scalerl("export", trained, "--out", tmp_path / "out", "--step", 2)
    written = load_file(tmp_path / "out/model.safetensors")
    kept = load_file(trained / "checkpoints/step-000002/trainer.safetensors")
    masters = {name.removeprefix("master."): one for name, one in kept.items() if name.startswith("master.")}
    assert written.keys() == masters.keys() and "lm_head.weight" not in written
    assert all(torch.equal(written[name], one) for name, one in masters.items())


def test_tokenizer_and_generation_come_along(scalerl, trained, tmp_path):
    result = scalerl("export", trained, "--out", tmp_path / "out")
    assert result.err == f"wrote {tmp_path / 'out'}, step 3 of {trained}\n"
    assert AutoTokenizer.from_pretrained(tmp_path / "out")("3 a + 4 ?")["input_ids"] == [8, 18, 15, 9, 3]
    assert json.loads((tmp_path / "out/generation_config.json").read_text())["eos_token_id"] == 1
    assert (tmp_path / "out/model.safetensors").stat().st_mode & 0o044, "others could not read it"


@pytest.mark.parametrize(("dtype", "expected"), [(None, "float32"), ("bfloat16", "bfloat16")])
def test_precision(scalerl, trained, tmp_path, dtype, expected):
    scalerl("export", trained, "--out", tmp_path / "out", *(["--dtype", dtype] if dtype else []))
    assert json.loads((tmp_path / "out/config.json").read_text())["dtype"] == expected
    assert {str(one.dtype) for one in load_file(tmp_path / "out/model.safetensors").values()} == {
        f"torch.{expected}"
    }


def test_a_body_in_bfloat16_gives_its_float32_masters_where_asked(scalerl, tmp_path):
    place = train("demo", tmp_path / "run", "model.dtype=bfloat16", "optimizer.rate=1e-5")
    scalerl("export", place, "--out", tmp_path / "half")
    scalerl("export", place, "--out", tmp_path / "full", "--dtype", "float32")
    half, full = (load_file(tmp_path / name / "model.safetensors") for name in ("half", "full"))
    assert all(torch.equal(half[name], one.bfloat16()) for name, one in full.items())
    assert any(not torch.equal(half[name].float(), one) for name, one in full.items())


def test_the_model_it_began_from_may_be_gone(scalerl, tmp_path):
    place = train(made(*SHAPES["llama untied"], tmp_path / "model"), tmp_path / "run")
    shutil.rmtree(tmp_path / "model")
    assert scalerl("export", place, "--out", tmp_path / "out").code == 0


def test_refusals_leave_nothing_behind(refused, trained, tmp_path):
    (tmp_path / "there").mkdir()
    assert "which exists already" in refused("export", trained, "--out", tmp_path / "there")
    assert "there is no folder" in refused("export", trained, "--out", tmp_path / "no/where")
    assert "has no checkpoint of step 7" in refused("export", trained, "--out", tmp_path / "out", "--step", 7)
    said = refused("export", trained, "--out", tmp_path / "out", "--dtype", "int8")
    assert said == "error: --dtype is 'int8'; expected one of float32, bfloat16"
    said = refused("export", tmp_path, "--out", tmp_path / "out")
    assert said.endswith(": is no run: it has no recipe.toml; expected a run directory")
    nowhere = refused("export", tmp_path / "nowhere", "--out", tmp_path / "out")
    assert nowhere.endswith("/nowhere: is no run: it has no recipe.toml; nothing is there")
    assert [one.name for one in tmp_path.iterdir()] == ["there"]


def test_a_damaged_checkpoint_is_refused_by_name_and_passed_over_without(scalerl, refused, trained, tmp_path):
    copy = shutil.copytree(trained, tmp_path / "run")
    file = copy / "checkpoints/step-000003/trainer.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert "other content" in refused("export", copy, "--out", tmp_path / "out", "--step", 3)
    result = scalerl("export", copy, "--out", tmp_path / "out")
    assert result.code == 0 and "the checkpoint of step 2 is used instead" in result.err
