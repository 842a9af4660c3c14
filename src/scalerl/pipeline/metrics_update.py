"""What one update says: ratios to the sampling policy, their lag, both clip tails, entropy, gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scalerl.objective.selection import Selection

if TYPE_CHECKING:
    from scalerl.trainer.update_report import UpdateReport

LARGEST_LOG = 60.0
"""Log-ratios beyond this are cut before exp: the square of their ratio would leave what a float can hold."""

QUANTILES = {"p01": 0.01, "p50": 0.5, "p99": 0.99, "max": 1.0}


def update_metrics(update: UpdateReport) -> dict[str, float]:
    """Say what an update did; of a step without one, only that there was none."""
    return {
        **_batch(update),
        **_optimizer(update),
        **_tails(update),
        **_ratios(update.log_ratio, update.lag),
        **_divergence(update.log_ratio),
        **_drift(update),
        **_lags(update.lag),
        **({"entropy/mean": float(update.entropy.mean())} if len(update.entropy) else {}),
        "memory/peak_bytes": update.peak_bytes,
    }


def effective_size(log_weight: NDArray[np.floating]) -> float:
    """Effective sample size of importance weights, (sum w)^2 / sum w^2 (Kish 1965).

    >>> round(effective_size(np.log([1.0, 1.0, 1.0, 1.0])), 6), round(effective_size(np.log([1.0, 3.0])), 6)
    (4.0, 1.6)
    """
    # A common factor of the weights cancels, and taking the largest out keeps exp within bounds.
    weight = np.exp(np.asarray(log_weight, dtype=np.float64) - log_weight.max())
    return float(weight.sum() ** 2 / (weight**2).sum())


def fresh(selection: Selection, lag: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which trained tokens belong to rollouts that the present weights sampled from beginning to end.

    Only these must have a ratio of 1. A token of lag 0 after older ones was sampled over keys and values that
    older weights wrote, so its ratio differs from 1 for a good reason.
    """
    parts: list[NDArray[np.bool_]] = []
    start = 0
    for rollout in (one for each in selection.survivors for one in each.rollouts):
        end = start + int(np.count_nonzero(rollout.is_trainable))
        is_of_one_version = rollout.versions.min() == rollout.versions.max()
        parts.append((lag[start:end] == 0) & is_of_one_version)
        start = end
    assert start == len(lag), f"the selection has {start} trainable tokens, the update {len(lag)}"
    return np.concatenate(parts) if parts else np.zeros(0, np.bool_)


def _batch(update: UpdateReport) -> dict[str, float]:
    selection = update.selection
    share = (
        {"batch/surviving_share": selection.num_surviving / selection.num_groups} if selection.num_groups else {}
    )
    return {
        "batch/surviving_groups": selection.num_surviving,
        "batch/surviving_rollouts": selection.num_rollouts,
        **share,
        "batch/truncated_dropped": selection.num_truncated_dropped,
        "batch/is_flat": float(not update.has_stepped),
        "batch/tokens": update.num_tokens,
        "batch/trained_tokens": update.num_trained,
    }


def _optimizer(update: UpdateReport) -> dict[str, float]:
    if not update.has_stepped:
        return {}
    return {
        "loss/value": update.loss,
        "gradient/norm": update.grad_norm,
        "gradient/was_clipped": float(update.was_clipped),
        "optimizer/rate": update.rate,
    }


def _tails(update: UpdateReport) -> dict[str, float]:
    if not len(update.is_low):
        return {}
    return {
        "loss/low_share": float(update.is_low.mean()),
        "loss/high_share": float(update.is_high.mean()),
        "loss/capped_share": float((update.is_low | update.is_high).mean()),
    }


def _ratios(log_ratio: NDArray[np.float32], lag: NDArray[np.int32]) -> dict[str, float]:
    if not len(log_ratio):
        return {}
    is_finite = np.isfinite(log_ratio)
    found = {"ratio/unusable_share": float(1 - is_finite.mean())}
    log_ratio, lag = log_ratio[is_finite], lag[is_finite]
    if len(log_ratio):
        size = effective_size(log_ratio)
        found |= {"ratio/effective_size": size, "ratio/effective_share": size / len(log_ratio)}
        found |= _quantiles("ratio", log_ratio)
        found["ratio/log_rms"] = float(np.sqrt(np.mean(log_ratio.astype(np.float64) ** 2)))
    for value in np.unique(lag):
        found |= _quantiles(f"ratio/lag_{value:02d}", log_ratio[lag == value])
    return found


def _quantiles(path: str, log_ratio: NDArray[np.float32]) -> dict[str, float]:
    found = np.quantile(log_ratio.astype(np.float64), list(QUANTILES.values()))
    ratios = np.exp(np.minimum(found, LARGEST_LOG))
    return {f"{path}/{name}": float(ratio) for name, ratio in zip(QUANTILES, ratios, strict=True)}


def _divergence(log_ratio: NDArray[np.float32]) -> dict[str, float]:
    """Divergence of the policy from the one that sampled, by two estimators (Schulman 2020: k1 and k3)."""
    usable = np.minimum(log_ratio[np.isfinite(log_ratio)].astype(np.float64), LARGEST_LOG)
    if not len(usable):
        return {}
    return {
        "kl/sampling_k1": float(-usable.mean()),
        "kl/sampling_k3": float((np.expm1(usable) - usable).mean()),
    }


def _drift(update: UpdateReport) -> dict[str, float]:
    if not len(update.log_ratio):
        return {}
    off = update.log_ratio[fresh(update.selection, update.lag)].astype(np.float64)
    off = off[np.isfinite(off)]
    if not len(off):
        return {}
    return {"drift/rms": float(np.sqrt((off**2).mean())), "drift/max": float(np.abs(off).max())}


def _lags(lag: NDArray[np.int32]) -> dict[str, float]:
    if not len(lag):
        return {}
    values, counts = np.unique(lag, return_counts=True)
    shares = {
        f"lag/share_{value:02d}": float(count / len(lag)) for value, count in zip(values, counts, strict=True)
    }
    return {"lag/mean": float(lag.mean()), "lag/max": float(lag.max()), **shares}
