"""From a folder to a policy, with every reason why a model cannot serve said before a run begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from scalerl.errors import InputError
from scalerl.model.attention import NAME
from scalerl.model.policy import Policy
from scalerl.recipe.paths import place_of
from scalerl.recipe.sections import Model

disable_progress_bar()  # a bar that runs through in a blink would tear the display
set_verbosity_error()  # what the library warns of here is checked here, and refused in one line


def device_of(name: str) -> torch.device:
    """The device that a recipe names."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("runtime.device is 'cuda'; there is no GPU here, expected 'cpu' or 'auto'")
    is_gpu = name == "cuda" or (name == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if is_gpu else "cpu")


def device_name(device: torch.device) -> str:
    """What kind of device it is: `cpu`, or the name of the GPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def dtype_of(name: str, device: torch.device) -> torch.dtype:
    """The precision of the body that a recipe names."""
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return torch.bfloat16 if name == "bfloat16" else torch.float32


def folder_of(path: str) -> Path:
    """The folder or file that `model.path` names."""
    if not path:
        raise InputError("model.path is not set; name a Hugging Face folder, a .gguf file, or 'demo'")
    place = place_of(Model, path)
    if not place.exists():
        raise InputError(f"model.path is {path!r}; there is no such folder or file")
    if place.is_dir() and not (place / "config.json").is_file():
        raise InputError(f"model.path is {path!r}; that folder has no config.json, expected a Hugging Face model")
    if place.is_file() and place.suffix != ".gguf":
        raise InputError(f"model.path is {path!r}; expected a Hugging Face folder or a .gguf file")
    return place


def load_policy(section: Model, device: torch.device) -> Policy:
    """The model of a recipe on its device, checked to be one that engine and trainer can share."""
    place = folder_of(section.path)
    module = _module(place, dtype_of(section.dtype, device)).to(device)  # pyright: ignore[reportArgumentType]
    _refuse_unknown_attention(module, section.path)
    policy = Policy(module, is_fp32_head=section.fp32_head, chunk_tokens=section.chunk_tokens)
    _refuse_unknown_head(policy, section.path)
    return policy


def describe_policy(section: Model, device: str) -> Policy:
    """The shapes of a model without its weights: for whoever only has to know what others hold."""
    place = folder_of(section.path)
    try:
        config: Any = AutoConfig.from_pretrained(place)
        with torch.device("meta"):
            module: Any = AutoModelForCausalLM.from_config(
                config, dtype=dtype_of(section.dtype, torch.device(device)), attn_implementation=NAME
            )
        if (place / "generation_config.json").is_file():
            module.generation_config = GenerationConfig.from_pretrained(place)
    except (OSError, ValueError) as problem:
        raise InputError(f"model.path is {str(place)!r}; it cannot be read as a causal LM: {problem}") from problem
    _refuse_unknown_attention(module, section.path)
    return Policy(module, is_fp32_head=section.fp32_head, chunk_tokens=section.chunk_tokens)


def load_tokenizer(path: str) -> PreTrainedTokenizerBase:
    """The tokenizer that lies beside the model."""
    place = folder_of(path)
    try:
        return AutoTokenizer.from_pretrained(**_source(place))
    except (OSError, ValueError, json.JSONDecodeError) as problem:
        raise InputError(f"model.path is {path!r}; its tokenizer cannot be read: {problem}") from problem


def _module(place: Path, dtype: torch.dtype) -> PreTrainedModel:
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            **_source(place), dtype=dtype, attn_implementation=NAME, output_loading_info=True
        )
        found, told = loaded
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as problem:
        raise InputError(f"model.path is {str(place)!r}; it cannot be read as a causal LM: {problem}") from problem

    if missing := sorted(told["missing_keys"]):  # they would be random numbers, others each time
        raise InputError(
            f"model.path is {str(place)!r}; its files lack {len(missing)} weights, such as {missing[0]}"
        )
    return _plain(found) if place.is_file() else found


def _plain(module: PreTrainedModel) -> PreTrainedModel:
    """A model from a .gguf file, whose weights are plain numbers by now, no longer marked as quantized."""
    for name in ("hf_quantizer", "quantization_method", "is_quantized"):
        if hasattr(module, name):
            delattr(module, name)
    if hasattr(module.config, "quantization_config"):
        module.config.__dict__.pop("quantization_config")
    return module


def _source(place: Path) -> dict[str, Any]:
    if place.is_file():
        return {"pretrained_model_name_or_path": str(place.parent), "gguf_file": place.name}
    return {"pretrained_model_name_or_path": str(place)}


def _refuse_unknown_attention(module: PreTrainedModel, path: str) -> None:
    config = module.config
    has_window = bool(getattr(config, "sliding_window", None)) and getattr(config, "use_sliding_window", True)
    kinds: set[str] = set(
        getattr(config, "layer_types", None) or ["sliding_attention" if has_window else "full_attention"]
    )
    if kinds != {"full_attention"}:
        raise InputError(
            f"model.path is {path!r}; its layers are {sorted(kinds)}, expected full attention throughout"
        )
    shares = [one.p for one in module.modules() if isinstance(one, torch.nn.Dropout)]
    if largest := max([*shares, getattr(config, "attention_dropout", 0.0) or 0.0]):
        raise InputError(
            f"model.path is {path!r}; it has dropout of {largest}, expected none: it enters every ratio"
        )


@torch.no_grad()
def _refuse_unknown_head(policy: Policy, path: str) -> None:
    """A head may be scaled, capped or biased: compare ours with the model's own on a few tokens."""
    tokens = torch.arange(4, device=policy.device)[None] % policy.module.config.vocab_size
    own = policy.module(input_ids=tokens, use_cache=False).logits[0].float()
    ours = policy.logits(policy.hidden(tokens)[0])
    if not torch.allclose(ours, own, rtol=0.05, atol=0.05 * float(own.abs().max())):
        raise InputError(
            f"model.path is {path!r}; its logits are more than one matrix product, which is not supported"
        )
