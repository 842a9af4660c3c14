"""A formula that can be fitted, and the families there are.

Every law here is linear in its two levels and bends through one function of compute:

    value = start + (ceiling - start) * share(compute; rate, place)

so that, with the bend fixed, the best levels and their whole distribution are closed form. One file a family
holds the formula of `share`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from scalerl.errors import InputError
from scalerl.scaling.curve import Vector
from scalerl.scaling.laws.exponential import exponential
from scalerl.scaling.laws.logistic import logistic
from scalerl.scaling.laws.power import power
from scalerl.scaling.laws.sigmoid import sigmoid
from scalerl.scaling.priors import LogNormal


class Share(Protocol):
    """The part of the whole gain that is reached at a compute, rising towards 1."""

    def __call__(self, compute: ArrayLike, rate: ArrayLike, place: ArrayLike) -> Vector:
        """Share at each compute."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A family of curves: what its two shape parameters are called and how the gain is shared out.

    `rate` is how sharply the curve bends (None where the family has no such freedom), `place` the compute at
    which it bends; a law whose place is not free takes the first fitted compute. `rate_prior` is what is
    believed of the rate before a point is seen.

    >>> law("sigmoid")([0.0, 2542.0], ceiling=0.61, rate=1.92, place=2542.0, start=0.3).round(3).tolist()
    [0.3, 0.455]
    """

    name: str
    share: Share
    rate: str | None
    place: str
    rate_prior: LogNormal
    is_place_free: bool = True

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, the ceiling first."""
        shape = [name for name in (self.rate, self.place) if name is not None]
        return ("ceiling", *shape, "start")

    @property
    def num_free(self) -> int:
        """How many numbers a fit chooses."""
        return 2 + (self.rate is not None) + self.is_place_free

    def __call__(
        self, compute: ArrayLike, *, ceiling: ArrayLike, rate: ArrayLike, place: ArrayLike, start: ArrayLike
    ) -> Vector:
        """Value of the law at a compute."""
        share = self.share(compute, rate, place)
        return np.asarray(start) + (np.asarray(ceiling) - np.asarray(start)) * share


LAWS: Mapping[str, Law] = MappingProxyType(
    {
        # Real curves have a median efficiency of 1.7; the paper's Table 1 runs from 1.1 to 2.4.
        "sigmoid": Law(
            name="sigmoid",
            share=sigmoid,
            rate="efficiency",
            place="midpoint",
            rate_prior=LogNormal(median=1.7, spread=0.6),
        ),
        "power": Law(
            name="power",
            share=power,
            rate="efficiency",
            place="reference",
            is_place_free=False,
            rate_prior=LogNormal(median=0.7, spread=0.8),
        ),
        "exponential": Law(
            name="exponential",
            share=exponential,
            rate=None,
            place="scale",
            rate_prior=LogNormal(median=1.0, spread=0.1),  # there is no rate to believe anything of
        ),
        "logistic": Law(
            name="logistic",
            share=logistic,
            rate="efficiency",
            place="midpoint",
            rate_prior=LogNormal(median=2.0, spread=0.8),
        ),
    }
)


def law(name: str) -> Law:
    """The law of that name."""
    if name not in LAWS:
        raise InputError(f"law is {name!r}; expected one of {', '.join(LAWS)}")
    return LAWS[name]
