"""Curves with a known truth behind them, for tests and benchmarks."""

import numpy as np

from scalerl import Curve
from scalerl.scaling.law import law

SIGMOID = law("sigmoid")

# Table 1 of arXiv 2510.13786: midpoint in GPU-hours, efficiency, ceiling.
TABLE_1 = {
    "ScaleRL": (2542, 1.92, 0.610),
    "ScaleRL-32k": (11272, 1.89, 0.645),
    "ScaleRL-8gen": (2542, 2.44, 0.585),
    "ScaleRL-24gen": (3054, 2.22, 0.590),
    "ScaleRL-32gen": (2936, 2.07, 0.595),
    "ScaleRL-Scout": (4242, 1.65, 0.710),
    "ScaleRL-bs512": (2818, 1.77, 0.605),
    "ScaleRL-bs2048": (10909, 1.70, 0.645),
    "math+code, math": (2896, 2.05, 0.595),
    "math+code, code": (1675, 1.09, 0.615),
}


def noiseless(name: str, *, start: float = 0.3, multiple: float = 5.0, num_points: int = 75) -> Curve:
    """A row of Table 1 without noise: a point at zero and so many up to a multiple of the midpoint."""
    midpoint, efficiency, ceiling = TABLE_1[name]
    compute = np.linspace(0, multiple * midpoint, num_points + 1)
    value = SIGMOID(compute, ceiling=ceiling, rate=efficiency, place=midpoint, start=start)
    return Curve.of(compute, value, unit="gpu_hours", num_samples=16_000, name=name)


def noisy(
    seed: int = 0,
    *,
    ceiling: float = 0.61,
    efficiency: float = 1.92,
    midpoint: float = 2542.0,
    start: float = 0.3,
    last: float = 12_000.0,
    num_points: int = 40,
    num_samples: int = 4_000,
    name: str = "noisy",
) -> Curve:
    """A run whose evaluations are drawn answer by answer."""
    rng = np.random.default_rng(seed)
    compute = np.linspace(0, last, num_points + 1)
    level = SIGMOID(compute, ceiling=ceiling, rate=efficiency, place=midpoint, start=start)
    value = rng.binomial(num_samples, level) / num_samples
    return Curve.of(compute, value, unit="gpu_hours", num_samples=num_samples, name=name)
