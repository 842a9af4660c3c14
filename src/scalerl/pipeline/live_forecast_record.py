"""A forecast as it is kept: a line of `forecasts.jsonl` that is never written again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from scalerl.scaling.curve import Unit

FORECASTS = "forecasts.jsonl"
PROBABILITIES = tuple(number / 20 for number in range(1, 20))
"""Of the quantiles that a forecast keeps: 5%, 10% ... 95%."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What is expected at one later step: the mean level and its band, and what one evaluation would show."""

    step: int
    compute: float
    value: float
    low: float
    high: float
    evaluation_low: float
    evaluation_high: float
    """Band of one evaluation: the first and the last of the quantiles."""
    quantiles: tuple[float, ...]
    """Of one evaluation, at `PROBABILITIES`, so that it can be scored later."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FrozenForecast:
    """What was said of one task's end, and of its next evaluation, when so much had been seen."""

    task: str
    made_at_step: int
    made_at_compute: float
    made_at_pass_rate: float
    unit: Unit
    num_points: int
    method: str
    level: float
    """Probability that a band is meant to hold."""
    soon: Expected
    end: Expected
    ceiling: float
    ceiling_low: float
    ceiling_high: float
    is_ceiling_identified: bool
    warnings: tuple[str, ...]

    def as_mapping(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of_mapping(cls, mapping: Mapping[str, Any]) -> FrozenForecast:
        """Read a record back."""
        whole: dict[str, Any] = {**mapping, "warnings": tuple(mapping["warnings"])}
        for key in ("soon", "end"):
            part: dict[str, Any] = {**mapping[key], "quantiles": tuple(mapping[key]["quantiles"])}
            whole[key] = Expected(**part)
        return cls(**whole)
