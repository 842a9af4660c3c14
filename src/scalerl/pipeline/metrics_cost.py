"""What a step cost: device time by kind, tokens, FLOPs, and how fast it went."""

from __future__ import annotations

from dataclasses import dataclass

from scalerl.compute import CHARGED, KINDS, Kind, Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """The ledger at one moment."""

    seconds: dict[Kind, float]
    num_generated_tokens: int
    num_trained_tokens: int
    flops: float
    gpu_hours: float

    @classmethod
    def of(cls, ledger: Ledger) -> Reading:
        """Read the ledger now."""
        seconds = ledger.device_seconds
        return cls(
            seconds=seconds,
            num_generated_tokens=ledger.num_generated_tokens,
            num_trained_tokens=ledger.num_trained_tokens,
            flops=ledger.flops,
            gpu_hours=sum(seconds[kind] for kind in CHARGED) / 3600,
        )


def cost_metrics(before: Reading, after: Reading) -> dict[str, float]:
    """Say what happened between two readings, and what the run has cost in all."""
    spent = {kind: after.seconds[kind] - before.seconds[kind] for kind in KINDS}
    generated = after.num_generated_tokens - before.num_generated_tokens
    charged = sum(spent[kind] for kind in CHARGED)
    return {
        **{f"seconds/{kind}": spent[kind] for kind in KINDS},
        "seconds/charged": charged,
        "tokens/generated": generated,
        "tokens/trained": after.num_trained_tokens - before.num_trained_tokens,
        **({"speed/tokens_per_second": generated / charged} if charged > 0 else {}),
        **({"speed/generation": generated / spent["generation"]} if spent["generation"] > 0 else {}),
        "compute/flops": after.flops,
        "compute/gpu_hours": after.gpu_hours,
        "compute/tokens": after.num_generated_tokens,
    }
