"""The weights of a checkpoint taken up without the rest of a run, and written as a Hugging Face folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedModel

from scalerl.errors import InputError
from scalerl.model.attention import NAME
from scalerl.model.loading import device_of, dtype_of, load_policy
from scalerl.model.policy import Policy
from scalerl.pipeline.local import TRAINER, load_trainer
from scalerl.pipeline.running import MODEL
from scalerl.recipe.recipe import Recipe
from scalerl.run import manifest
from scalerl.run.checkpoints import Checkpoint
from scalerl.run.directory import Run
from scalerl.run.durable import beside, discard
from scalerl.run.names import CHECKPOINTS, by_step
from scalerl.trainer.sharded_checkpoint import SHARDS
from scalerl.trainer.step import Trainer

Precision = Literal["float32", "bfloat16"]
MASTER = "master."
"""What the names of float32 weights begin with in a checkpoint."""
GENERATION = "generation_config.json"


def checkpoint_of(run: Run, step: int | None) -> Checkpoint:
    """The checkpoint of a step, or the newest; whole to the last byte."""
    found = by_step(run.path / CHECKPOINTS)
    if not found:
        raise InputError("has no checkpoint yet", file=run.path)
    if step is None:
        newest = run.latest_checkpoint()
        assert newest is not None, "there is one"
        return newest
    if step not in found:
        there = ", ".join(str(one) for one in found)
        raise InputError(f"has no checkpoint of step {step}; there are those of {there}", file=run.path)
    return Checkpoint(step=step, path=found[step], manifest=manifest.verified(found[step]))


def policy_at(run: Run, recipe: Recipe, checkpoint: Checkpoint) -> Policy:
    """The policy as it stood at a checkpoint, on the recipe's device; no optimizer, no engine."""
    device = device_of(recipe.runtime.device)
    module = module_at(run, recipe, checkpoint, dtype_of(recipe.model.dtype, device)).to(device)  # pyright: ignore[reportArgumentType]
    return Policy(module, is_fp32_head=recipe.model.fp32_head, chunk_tokens=recipe.model.chunk_tokens)


def module_at(run: Run, recipe: Recipe, checkpoint: Checkpoint, dtype: torch.dtype) -> PreTrainedModel:
    """The model as it stood at a checkpoint: its shape from the run, its weights from the float32 masters."""
    kept = model_folder(run)
    config = AutoConfig.from_pretrained(kept)
    module: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=NAME)
    if (kept / GENERATION).is_file():
        module.generation_config = GenerationConfig.from_pretrained(kept)
    if (checkpoint.path / SHARDS).is_dir():
        load_trainer(Trainer(Policy(module), recipe), checkpoint.path, "cpu")  # its masters are put together here
    else:
        _take_masters(module, checkpoint.path / TRAINER)
    _take_buffers(module, recipe)
    return module.eval()


def model_folder(run: Run) -> Path:
    """Configuration and tokenizer as the run keeps them."""
    place = run.path / MODEL
    if not (place / "config.json").is_file():
        raise InputError(f"keeps no {MODEL}/config.json; expected a run of `scalerl train`", file=run.path)
    return place


def export(run: Run, recipe: Recipe, checkpoint: Checkpoint, place: Path, dtype: Precision | None = None) -> None:
    """Write a folder that transformers loads, whole or not at all; in the precision of training unless told."""
    with new_folder(place) as making:
        precision = torch.bfloat16 if (dtype or _trained(run)) == "bfloat16" else torch.float32
        save_module(module_at(run, recipe, checkpoint, precision), making)
        for file in model_folder(run).iterdir():
            if file.name != "config.json":  # the one just written knows the precision
                shutil.copyfile(file, making / file.name)


def save_module(module: PreTrainedModel, folder: Path) -> None:
    """Write configuration and weights; tied weights once."""
    module.save_pretrained(folder)
    for file in folder.glob("*.safetensors"):  # the library makes them private, whatever this process would
        file.chmod((folder / "config.json").stat().st_mode)


@contextmanager
def new_folder(place: Path, option: str = "--out") -> Generator[Path]:
    """A folder to fill beside its place, which gets its name when all is done and is gone if anything fails."""
    if place.exists():
        raise InputError(f"{option} is {str(place)!r}, which exists already; expected the name of a new folder")
    if not place.parent.is_dir():
        raise InputError(f"{option} is {str(place)!r}; there is no folder {str(place.parent)!r}")
    making = beside(place)
    discard(making)
    making.mkdir()
    try:
        yield making
        making.rename(place)
    finally:
        discard(making)


def _trained(run: Run) -> str | None:
    """The precision of the body while it was trained."""
    return json.loads((model_folder(run) / "config.json").read_text(encoding="utf-8")).get("dtype")


@torch.no_grad()
def _take_masters(module: PreTrainedModel, file: Path) -> None:
    """Moments stay on the disk: they are twice as large as the weights."""
    parameters = dict(module.named_parameters())
    with safe_open(file, framework="pt") as kept:
        names = {name.removeprefix(MASTER) for name in kept.keys() if name.startswith(MASTER)}  # noqa: SIM118 - no mapping
        if strange := sorted(names ^ set(parameters)):
            raise InputError(f"holds another model: {', '.join(strange[:3])} differ from the run's", file=file)
        for name, parameter in parameters.items():
            parameter.copy_(kept.get_tensor(f"{MASTER}{name}"))


@torch.no_grad()
def _take_buffers(module: PreTrainedModel, recipe: Recipe) -> None:
    """What a model keeps beside its weights, such as the bias of a router, is never trained: it is the start's."""
    weights = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own = {name: one for name, one in module.state_dict().items() if name not in weights}
    if not own:
        return
    start = load_policy(recipe.model, torch.device("cpu")).module.state_dict()
    for name, one in own.items():
        one.copy_(start[name])
