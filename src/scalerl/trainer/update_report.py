"""What one update did, for metrics: nothing here is on a device any more."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from scalerl.objective.selection import Selection


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateReport:
    """One update: scalars, and arrays with one entry for each token that carried a gradient."""

    selection: Selection
    has_stepped: bool
    """False where all groups were flat: the optimizer was not called and no weight moved."""
    loss: float
    grad_norm: float
    """Before clipping."""
    was_clipped: bool
    rate: float
    """The rate of this call; 0 where there was none."""
    num_rows: int
    num_tokens: int
    """All tokens of the rows, prompts included, padding not."""
    num_trained: int
    peak_bytes: int
    """Most memory held so far: of the GPU where the policy is on one, else of the process."""
    log_ratio: NDArray[np.float32]
    """Trainer now less generator when the token was sampled."""
    lag: NDArray[np.int32]
    entropy: NDArray[np.float32]
    is_low: NDArray[np.bool_]
    is_high: NDArray[np.bool_]


def idle_report(selection: Selection, device: torch.device) -> UpdateReport:
    """The report of a step that had nothing to learn from."""
    nothing = np.zeros(0, np.float32)
    return UpdateReport(
        selection=selection,
        has_stepped=False,
        loss=0.0,
        grad_norm=0.0,
        was_clipped=False,
        rate=0.0,
        num_rows=0,
        num_tokens=0,
        num_trained=0,
        peak_bytes=peak_bytes(device),
        log_ratio=nothing,
        lag=nothing.astype(np.int32),
        entropy=nothing,
        is_low=nothing.astype(np.bool_),
        is_high=nothing.astype(np.bool_),
    )


def peak_bytes(device: torch.device) -> int:
    """Most memory held so far: of the GPU, or of the process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024  # kernels disagree on the unit
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
