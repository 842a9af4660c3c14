"""Weights that arrive over the network as a file for vLLM's processes, gone again when they are loaded."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from numpy import uint8
from numpy.typing import NDArray

MEMORY = Path("/dev/shm")


@contextmanager
def as_file(weights: NDArray[uint8], memory: Path = MEMORY) -> Generator[Path]:
    """The bytes of a safetensors file as one: in memory where there is room, which containers often limit.

    A message to vLLM's processes can hold no more than 4 GiB.
    """
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 2 * weights.nbytes
    with tempfile.NamedTemporaryFile(dir=memory if has_room else None, suffix=".safetensors") as file:
        file.write(weights.data)
        file.flush()
        yield Path(file.name)
