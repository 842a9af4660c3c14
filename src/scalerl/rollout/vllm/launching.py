"""Where vLLM is imported: late, by name, after its environment is set; its objects have no types here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from scalerl.errors import InputError
from scalerl.rollout.vllm.answering import Turn
from scalerl.rollout.vllm.errors import VllmError
from scalerl.rollout.vllm.interface import AsyncLLM
from scalerl.rollout.vllm.options import VllmOptions, engine_arguments, set_environment


def launch(options: VllmOptions) -> AsyncLLM:
    """An `AsyncLLM` with its processes; waits until they have loaded the model."""
    is_cpu = not torch.cuda.is_available()
    set_environment(options, is_cpu=is_cpu)
    try:
        vllm: Any = import_module("vllm")
    except ModuleNotFoundError as error:
        raise InputError(f"{error}; generation by vLLM needs `pip install vllm==0.32.0`") from error
    arguments = engine_arguments(options, is_cpu=is_cpu)
    if options.uses_nccl:
        arguments["weight_transfer_config"] = import_module("vllm.config").WeightTransferConfig(backend="nccl")
    engine: Any = import_module("vllm.v1.engine.async_llm").AsyncLLM
    try:
        return engine.from_engine_args(vllm.AsyncEngineArgs(**arguments))
    except Exception as error:
        raise VllmError(f"vLLM did not start: {type(error).__name__}: {error}") from error


def sampling(turn: Turn, temperature: float) -> object:
    """Plain sampling from the model's own distribution, with the log-probability of what was drawn."""
    vllm: Any = import_module("vllm.sampling_params")
    return vllm.SamplingParams(
        temperature=temperature,
        max_tokens=turn.max_tokens,
        stop_token_ids=turn.stops,
        ignore_eos=True,  # the stops are ours to say
        seed=turn.seed,
        logprobs=0,
        detokenize=False,
        output_kind=vllm.RequestOutputKind.FINAL_ONLY,
    )
