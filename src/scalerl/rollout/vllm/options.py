"""What vLLM is started with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

CPU_CACHE_BYTES = 128 << 20
"""Keys and values on a CPU, where vLLM would take a share of all memory."""
CPU_BLOCK = 32
"""Tokens that share a prefix on a CPU in whole multiples; vLLM's default there is 128."""
WORKER = "scalerl.rollout.vllm.worker.WeightWorker"
PARENT = "SCALERL_ENGINE_PARENT"
"""Names the process whose death ends vLLM's own, for the time in which they cannot be told otherwise."""

_EVERYWHERE = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
}
_ON_A_CPU = {"TORCH_COMPILE_DISABLE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@dataclass(frozen=True, kw_only=True, slots=True)
class VllmOptions:
    """Everything of a recipe that the engine needs."""

    model: str
    """A folder with a model that transformers loads, in safetensors."""
    dtype: Literal["float32", "bfloat16"]
    """Precision of the body."""
    is_fp32_head: bool
    max_model_len: int
    """The longest prompt with its answer."""
    max_sequences: int
    """Answers sampled at a time; more wait their turn."""
    tensor_parallel: int = 1
    kv_cache_bytes: int | None = None
    """Memory for keys and values; None: vLLM's share of a GPU, or 128 MiB on a CPU."""
    seed: int = 0
    uses_nccl: bool = False
    """Whether weights come over NCCL (`nccl.py`) rather than as files or bytes."""
    start_seconds: float = 600.0
    call_seconds: float = 60.0
    """How long vLLM may take over a short call."""
    answer_seconds: float = 7_200.0
    """How long one submission may take, pauses included."""


def set_environment(options: VllmOptions, *, is_cpu: bool) -> None:
    """Say to vLLM what only the environment can say; before it is imported. What is already set stays."""
    wanted = _EVERYWHERE | (_ON_A_CPU if is_cpu else {})
    for name, value in wanted.items():
        os.environ.setdefault(name, value)
    os.environ["VLLM_ENGINE_READY_TIMEOUT_S"] = str(int(options.start_seconds))
    os.environ[PARENT] = str(os.getpid())


def engine_arguments(options: VllmOptions, *, is_cpu: bool) -> dict[str, object]:
    """Arguments of `vllm.AsyncEngineArgs`; `processed_logprobs` are those of the distribution sampled from."""
    found: dict[str, object] = {
        "model": options.model,
        "dtype": options.dtype,
        "seed": options.seed,
        "max_model_len": options.max_model_len,
        "max_num_seqs": options.max_sequences,
        "tensor_parallel_size": options.tensor_parallel,
        "logprobs_mode": "processed_logprobs",
        "enable_prefix_caching": True,
        "skip_tokenizer_init": True,
        "generation_config": "vllm",
        "disable_log_stats": True,
        "worker_extension_cls": WORKER,
    }
    if options.tensor_parallel > 1:
        found["distributed_executor_backend"] = "mp"  # in an actor it would ask Ray for the same GPUs again
    if options.is_fp32_head and options.dtype != "float32":
        found["hf_overrides"] = {"head_dtype": "float32"}
    if is_cpu:
        found |= {"enforce_eager": True, "block_size": CPU_BLOCK, "kv_cache_memory_bytes": CPU_CACHE_BYTES}
        # A prompt read in parts takes back what it sampled by its generator's offset, which none has on a CPU.
        found["enable_chunked_prefill"] = False
    if options.kv_cache_bytes is not None:
        found["kv_cache_memory_bytes"] = options.kv_cache_bytes
    return found
