"""Whether a comparison of losses tests anything: at a ratio of 1 all of them are alike."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

FEWEST = 0.01
"""Share of trained tokens that a cap or clip must touch for losses to differ."""


def loss_notes(runs: Sequence[str]) -> tuple[str, ...]:
    """Say so where runs differ in their loss and hardly a token was capped or clipped; other files say nothing."""
    shares = {run: _touched(Path(run)) for run in runs if (Path(run) / "recipe.toml").is_file()}
    kinds = {tomllib.loads((Path(run) / "recipe.toml").read_text())["loss"]["kind"] for run in shares}
    idle = [
        f"{Path(run).name} {share:.1%}" for run, share in shares.items() if share is not None and share < FEWEST
    ]
    if len(kinds) < 2 or not idle:
        return ()
    return (
        f"these runs differ in their loss, but of the trained tokens hardly any were capped or clipped "
        f"({', '.join(idle)}): the comparison does not test the losses; a real lag (off_policy.ahead) would",
    )


def _touched(run: Path) -> float | None:
    """Mean share of capped or clipped tokens over the run's steps."""
    log = run / "metrics.jsonl"
    lines = log.read_text().splitlines() if log.is_file() else []
    found = [json.loads(line).get("loss/capped_share") for line in lines if line.endswith("}")]
    shares = [share for share in found if share is not None]
    return sum(shares) / len(shares) if shares else None
