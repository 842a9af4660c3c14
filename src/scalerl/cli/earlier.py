"""Bands set by how well they did on the user's earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scalerl.cli.fitting import FitOptions
from scalerl.cli.progress import steps
from scalerl.cli.reading import Reading, named_files, read_runs
from scalerl.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibrated:
    """By how much bands are widened, and why, in words."""

    width_factor: float = 1.0
    notes: tuple[str, ...] = ()


def recalibrated(earlier: Sequence[str] | None, reading: Reading, options: FitOptions) -> Recalibrated:
    """Back-test the earlier runs by the same law and method; without any, bands stay as they are."""
    if not earlier:
        return Recalibrated()
    if options["method"] != "posterior":
        raise InputError(f"--earlier is given with --method {options['method']}; only posterior has bands to set")
    from scalerl.scaling.backtest import CUTS, backtest, recalibration

    runs = read_runs([file for text in earlier for file in named_files(text, "--earlier")], reading)
    with steps(len(runs) * len(CUTS), "back-testing") as step:
        rivals: dict[str, Any] = {}
        result = backtest([run.curve for run in runs], law=options["law"], rivals=rivals, on_step=step)
    if not result.outcomes:
        return Recalibrated(
            notes=("the earlier runs have too few points to judge bands by: they stay as they are",)
        )
    factor = recalibration(result)
    how = "widened" if factor >= 1 else "narrowed"
    return Recalibrated(
        width_factor=factor,
        notes=(f"bands are {how} to {factor:.2f} times, after {len(result.outcomes)} forecasts of earlier runs",),
    )
