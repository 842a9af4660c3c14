"""A batch divided by weights: whole numbers, at least one each."""

from __future__ import annotations

from collections.abc import Mapping

from scalerl.errors import InputError


def shares(weights: Mapping[str, float], total: int) -> dict[str, int]:
    """Divide by largest remainder; a part whose share is below one gets one, and the others divide the rest.

    >>> shares({"a": 1, "b": 1, "c": 4}, 7)
    {'a': 1, 'b': 1, 'c': 5}
    >>> shares({"a": 1, "b": 99}, 10)
    {'a': 1, 'b': 9}
    """
    if total < len(weights):
        message = f"batch.prompts is {total}, but the mixture has {len(weights)} parts"
        raise InputError(f"{message}; expected at least {len(weights)}")
    small: set[str] = set()
    while True:
        quotas = _quotas(
            {name: weight for name, weight in weights.items() if name not in small}, total - len(small)
        )
        below = {name for name, quota in quotas.items() if quota < 1}
        if not below:
            break
        small |= below
    whole = {name: int(quotas.get(name, 1)) for name in weights}
    by_remainder = sorted(quotas, key=lambda name: whole[name] - quotas[name])
    for name in by_remainder[: total - sum(whole.values())]:
        whole[name] += 1
    return whole


def _quotas(weights: Mapping[str, float], total: int) -> dict[str, float]:
    of_all = sum(weights.values())
    return {name: total * weight / of_all for name, weight in weights.items()}
