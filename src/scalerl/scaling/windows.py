"""How the parameters depend on where a fit starts and ends (the paper's appendix A.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scalerl.errors import TooFewPointsError
from scalerl.scaling.curve import Curve
from scalerl.scaling.estimate import LEVEL
from scalerl.scaling.fit import Fit, Method, fit

START_SHARES = (0.0, 0.05, 0.15)
END_SHARES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """A fit of the points between two computes, None where there are too few."""

    since: float
    until: float
    fit: Fit | None


def windows(
    curve: Curve,
    *,
    starts: Sequence[float] | None = None,
    ends: Sequence[float] | None = None,
    law: str = "sigmoid",
    method: Method = "posterior",
    level: float = LEVEL,
) -> tuple[Window, ...]:
    """Fit every window from one of `starts` to one of `ends`, by default shares of the last compute."""
    last = curve.last_compute
    starts = [share * last for share in START_SHARES] if starts is None else starts
    ends = [share * last for share in END_SHARES] if ends is None else ends
    return tuple(
        Window(since=since, until=until, fit=_fit_or_none(curve, since, until, law, method, level))
        for since in starts
        for until in ends
        if since < until
    )


def _fit_or_none(curve: Curve, since: float, until: float, law: str, method: Method, level: float) -> Fit | None:
    try:
        return fit(curve, law=law, method=method, since=since, until=until, level=level)
    except TooFewPointsError:  # an empty row of the table
        return None
