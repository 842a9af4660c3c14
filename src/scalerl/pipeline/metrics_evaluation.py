"""What an evaluation says, and what was forecast from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from scalerl.pipeline.live_forecast import FrozenForecast
from scalerl.pipeline.metrics_rollouts import MOST_LABELS, path_part, verdict_metrics
from scalerl.records import EvalPoint, Prompt


def evaluation_metrics(
    point: EvalPoint,
    *,
    prompts: Sequence[Prompt] = (),
    num_passed: Mapping[str, int] | None = None,
    forecast: FrozenForecast | None = None,
    evidence: float | None = None,
    num_errors: int = 0,
    verdict_kinds: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Say where one task stands; `num_passed` of each prompt's id gives pass rates by difficulty."""
    path = f"eval/{path_part(point.task)}"
    asked = point.num_prompts * point.num_samples
    return {
        f"{path}/pass_rate": point.pass_rate,
        f"{path}/pass_rate_error": math.sqrt(point.pass_rate * (1 - point.pass_rate) / asked),
        f"{path}/truncation": point.truncation,
        f"{path}/judge_error_share": num_errors / asked,
        **verdict_metrics(f"{path}/verdict", verdict_kinds or {}),
        **_by_difficulty(path, prompts, num_passed or {}, point.num_samples),
        **({} if forecast is None else _forecast(path, forecast)),
        **({} if evidence is None else {f"{path}/evidence": evidence}),
    }


def _by_difficulty(
    path: str, prompts: Sequence[Prompt], num_passed: Mapping[str, int], num_samples: int
) -> dict[str, float]:
    asked = [prompt for prompt in prompts if prompt.difficulty and prompt.id in num_passed]
    counts = Counter(prompt.difficulty for prompt in asked)
    found: dict[str, float] = {}
    for label in sorted(name for name, _ in counts.most_common(MOST_LABELS)):
        passed = sum(num_passed[prompt.id] for prompt in asked if prompt.difficulty == label)
        found[f"{path}/difficulty/{path_part(label)}/pass_rate"] = passed / (counts[label] * num_samples)
    return found


def _forecast(path: str, forecast: FrozenForecast) -> dict[str, float]:
    end = forecast.end
    return {f"{path}/forecast": end.value, f"{path}/forecast_low": end.low, f"{path}/forecast_high": end.high}
