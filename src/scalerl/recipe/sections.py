"""The sections of a recipe whose keys do not depend on a kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scalerl.recipe.knob import knob

DType = Literal["auto", "float32", "bfloat16"]
Scale = Literal["batch", "prompt", "none"]
Averaging = Literal["prompt", "sample", "token"]
ZeroVariance = Literal["drop", "keep"]
Truncated = Literal["drop", "keep", "fail"]
History = Literal["mean", "last"]
Scheme = Literal["pipeline", "phased"]
Reward = Literal["task", "random", "format"]
Runtime = Literal["local", "cluster"]
NetworkScope = Literal["loopback", "all"]
Transfer = Literal["store", "nccl"]
Device = Literal["auto", "cpu", "cuda"]
Graphs = Literal["auto", "on", "off"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """The policy that is trained."""

    path: str = knob("", "A local Hugging Face folder, a .gguf file, or `demo` for the policy shipped here.")
    dtype: DType = knob("auto", "Precision of the body: `auto` is float32 on a CPU and bfloat16 on a GPU.")
    fp32_head: bool = knob(True, "Compute the logits in float32, in engine and trainer alike.")
    chunk_tokens: int = knob(1_024, "Most tokens whose logits are held at a time.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptFormat:
    """How a question becomes tokens, and where thinking ends."""

    chat_template: bool = knob(True, "Ask through the model's chat template where it has one.")
    system: str = knob("", "System message of the chat; empty is none.")
    opening: str = knob("", "Text that every answer begins with, such as `<think>`; it belongs to the prompt.")
    think_close: str = knob(
        "</think>", "Tag that ends thinking, one token; what follows is judged. Empty: no tags."
    )
    stop: tuple[str, ...] = knob((), "Tokens that end an answer, beside the model's own.")
    max_tokens: int = knob(2_048, "Longest prompt; longer ones are refused.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """How much one optimizer step sees."""

    prompts: int = knob(48, "Prompts of one optimizer step.", at_least=1)
    samples: int = knob(16, "Rollouts of each prompt.", at_least=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How training rollouts are sampled; top-p and top-k would leak into the ratio and are not offered."""

    temperature: float = knob(1.0, "Temperature, applied in engine and trainer alike.", above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """From rewards to the weight of every token."""

    advantage_scale: Scale = knob("batch", "What centred rewards are divided by.")
    averaging: Averaging = knob("prompt", "Whose means the loss is a mean of.")
    zero_variance: ZeroVariance = knob("drop", "What happens to groups whose rewards are all equal.")
    truncated: Truncated = knob("drop", "What happens to rollouts whose budget ran out.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Curriculum:
    """Which prompts are drawn."""

    no_positive_resampling: bool = knob(True, "Never again draw a prompt, in later epochs, that has become easy.")
    threshold: float = knob(0.9, "A prompt with this pass rate is easy.", above=0, at_most=1)
    history: History = knob("mean", "Pass rate over all judged visits, or the last visit alone.")


@dataclass(frozen=True, kw_only=True, slots=True)
class OffPolicy:
    """How far generation may run ahead of training."""

    kind: Scheme = knob(
        "pipeline", "`pipeline`: weights change mid-sentence; `phased`: generate k batches, update k times."
    )
    k: int = knob(
        8, "Largest lag in optimizer steps (pipeline), or updates a phase (phased, at least 1).", at_least=0
    )
    ahead: int = knob(
        0, "Batches kept finished and waiting, so that a lag is really reached (pipeline).", at_least=0
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimizer:
    """AdamW with a constant rate after a linear warm-up."""

    rate: float = knob(5e-7, "Learning rate.", above=0)
    warmup_steps: int = knob(100, "Steps over which the rate rises linearly.", at_least=0)
    betas: tuple[float, float] = knob((0.9, 0.95), "Decay of the two moments.", at_least=0, below=1)
    eps: float = knob(1e-15, "Added to the root of the second moment.", above=0)
    weight_decay: float = knob(0.01, "Decoupled weight decay.", at_least=0)
    max_norm: float = knob(1.0, "Gradients with a larger norm are scaled down to it.", above=0)
    micro_batch_tokens: int = knob(
        16_384, "Most tokens, padding included, of one forward and backward pass.", at_least=1
    )
    gradient_checkpointing: bool = knob(False, "Recompute activations in the backward pass: slower, less memory.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """How rollouts are generated."""

    slots: int = knob(0, "Sequences decoded at once; 0 takes what memory allows, at most one batch.", at_least=0)
    graphs: Graphs = knob("auto", "CUDA graphs of the decode step: `auto` takes them on a GPU for dense models.")
    compile: bool = knob(False, "Fuse the decoder layers of the graph: half a minute at the start, faster after.")
    memory_share: float = knob(0.5, "Share of free memory that keys and values may take.", above=0, below=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The curve: pass rate on held-out prompts."""

    every: int = knob(100, "Steps between evaluations; step 0 and the last step are always evaluated.", at_least=1)
    prompts: int = knob(1_000, "Held-out prompts of each task.", at_least=1)
    samples: int = knob(16, "Generations of each held-out prompt.", at_least=1)
    temperature: float = knob(1.0, "Temperature; a curve that mixes temperatures is refused.", above=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """What survives."""

    every: int = knob(50, "Steps between checkpoints; the last step is always kept.", at_least=1)
    keep: int = knob(2, "Newest checkpoints that are kept.", at_least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeSection:
    """Where the loop runs."""

    kind: Runtime = knob("local", "`local`: one process, one device; `cluster`: vLLM and FSDP2 over Ray.")
    device: Device = knob("auto", "`auto` takes a GPU where there is one.")
    judges: int = knob(1, "Answers judged at once where judging is slow: processes, or sandboxes.", at_least=1)
    threads: int = knob(1, "CPU threads of torch; 0 leaves it to torch.", at_least=0)
    generators: int = knob(1, "Engines of vLLM on a cluster.", at_least=1)
    tensor_parallel: int = knob(1, "GPUs that share the model of one generator.", at_least=1)
    trainers: int = knob(1, "FSDP2 ranks on a cluster, one GPU each.", at_least=1)
    verifiers: int = knob(1, "Processes on a cluster that put answers before the judge.", at_least=1)
    start_seconds: float = knob(600.0, "Longest time until a part of a cluster is ready.", above=0)
    answer_seconds: float = knob(7200.0, "Longest time for one group of answers on a cluster.", above=0)
    update_seconds: float = knob(1800.0, "Longest time for one update, transfer of weights or judgement.", above=0)
    restarts: int = knob(20, "Replacements of parts of a cluster, of each kind, before the run ends.", at_least=0)
    transfer: Transfer = knob("store", "How weights reach generators: Ray's object store, or NCCL between GPUs.")
    network: NetworkScope = knob("loopback", "What a cluster that is started here listens on.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """What is written beside metrics.jsonl."""

    rollouts_every: int = knob(10, "Steps between recorded batches of rollouts; 0 records none.", at_least=0)
    rollouts_keep: int = knob(20, "Newest recorded batches that are kept; 0 keeps all.", at_least=0)
    kl_to_start: bool = knob(True, "Keep a copy of the starting policy and log how far training has moved from it.")
    wandb: str = knob("", "Weights & Biases project; empty is off.")
    tensorboard: bool = knob(False, "Write TensorBoard event files into the run directory.")
