"""What a file of weights holds, read from its header, so that a wrong one is refused before anything is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from scalerl.errors import InputError
from scalerl.rollout.vllm.errors import VllmError

Shapes = dict[str, tuple[int, ...]]
_HEAD = "lm_head.weight"


def shapes_of(weights: Path) -> Shapes:
    """Names and shapes in a safetensors file; refuses one that is not there or not whole."""
    if not weights.is_file():
        raise VllmError(f"{weights} is not there; expected a safetensors file")
    with weights.open("rb") as file:
        first = file.read(8)
        rest = file.read(int.from_bytes(first, "little")) if _is_sane(first, weights.stat().st_size) else b""
    return _shapes(str(weights), first, rest, weights.stat().st_size)


def _is_sane(first: bytes, size: int) -> bool:
    return len(first) == 8 and int.from_bytes(first, "little") <= size - 8


def _shapes(what: str, first: bytes, rest: bytes, size: int) -> Shapes:
    if not _is_sane(first, size):
        raise VllmError(f"{what}: {size} bytes that are not in the format of safetensors")
    length = int.from_bytes(first, "little")
    try:
        header: dict[str, Any] = json.loads(rest[:length])
    except ValueError as error:
        raise VllmError(f"{what}: the header is not that of safetensors ({error})") from error
    header.pop("__metadata__", None)
    ends = [int(one["data_offsets"][1]) for one in header.values()]
    if 8 + length + max(ends, default=0) != size:
        raise VllmError(f"{what}: {size} bytes, expected {8 + length + max(ends, default=0)}; it was cut short")
    return {name: tuple(cast(list[int], one["shape"])) for name, one in header.items()}


def shapes_of_model(folder: Path) -> Shapes:
    """Names and shapes of a whole model as transformers saves it."""
    files = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = cast(dict[str, str], json.loads(index.read_text())["weight_map"])
        files = [folder / one for one in sorted(set(parts.values()))]
    if not files:
        raise InputError(f"the model is {str(folder)!r}; expected a folder with safetensors files")
    found: Shapes = {}
    for file in files:
        found |= shapes_of(file)
    return found


def refuse_unlike(expected: Shapes, found: Shapes, *, is_tied: bool) -> None:
    """Refuse weights that are not the whole model: vLLM would load part of a fused layer without a word."""
    passed_over = {_HEAD} if is_tied else set[str]()
    missing = sorted(expected.keys() - found.keys() - passed_over)
    unknown = sorted(found.keys() - expected.keys() - passed_over)
    wrong = sorted(name for name in expected.keys() & found.keys() if expected[name] != found[name])
    if missing:
        raise VllmError(f"the weights lack {_some(missing)}; expected the whole model")
    if unknown:
        raise VllmError(f"the weights hold {_some(unknown)}, which the model does not know")
    if wrong:
        name = wrong[0]
        raise VllmError(f"the weights hold {name} as {found[name]}, expected {expected[name]}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
