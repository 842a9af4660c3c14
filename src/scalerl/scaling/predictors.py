"""The methods that a back-test pits against each other, each as draws of the level at computes to come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from scalerl.scaling.baselines import damped_trend, last_value, local_level
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.fit import Method, fit_draws, window
from scalerl.scaling.law import law as law_named

Predictor: TypeAlias = Callable[[Curve, Vector], Vector]
"""From the points so far and the computes to come to levels: rows are draws (a single one for a bare number)."""


def by_fit(law: str, method: Method) -> Predictor:
    """Predict by fitting a law; a fit without bands that can be believed gives its best curve alone."""

    def predict(curve: Curve, compute: Vector) -> Vector:
        chosen = law_named(law)
        draws = fit_draws(window(curve, None, None, chosen), chosen, method)
        if method == "posterior":
            return draws.levels(compute)
        best = draws.best
        value = chosen(compute, ceiling=best.ceiling, rate=best.rate, place=best.place, start=best.start)
        return np.clip(value, 0.0, 1.0)[None]

    return predict


def by_rule(rule: Callable[[Curve, Vector], Vector]) -> Predictor:
    """Predict by a rule of thumb."""
    return lambda curve, compute: rule(curve, compute)[None]


RIVALS: Mapping[str, Predictor] = MappingProxyType(
    {
        "last value": by_rule(last_value),
        "local level": by_rule(local_level),
        "damped trend": by_rule(damped_trend),
        "power law": by_fit("power", "least-squares"),
        "paper": by_fit("sigmoid", "paper"),
    }
)
