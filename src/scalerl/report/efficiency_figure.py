"""The plot that isolates the efficiency (arXiv 2510.13786, section 4, figure 7)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scalerl.errors import InputError
from scalerl.report.axes import PALETTE, SMALL, ComputeAxis, Look, drawing, new_figure
from scalerl.scaling.curve import Curve, Vector
from scalerl.scaling.draws import Parameters
from scalerl.scaling.fit import Fit
from scalerl.scaling.number_text import DASH, steepness_text, value_text


def efficiency_figure(fit: Fit) -> Figure:
    """Draw log F against log compute, where the law is a line whose slope is the efficiency.

    F(R_C) = C_mid^B / ((A - R_0) / (R_C - R_0) - 1), which equals C^B on the curve.
    """
    if fit.law.name != "sigmoid":
        raise InputError(
            f"the law is {fit.law.name!r}; only the sigmoid is a line on this plot", file=fit.curve.name
        )
    best = fit.draws.best
    is_shown = is_between_levels(fit.curve, best)
    with drawing():
        figure, (axes,) = new_figure(height=3.5)
        axis = ComputeAxis.over([fit.curve.take(fit.curve.compute > 0)], fit.curve.last_compute)
        steps = axis.steps(num=50)
        axes.plot(steps, best.rate * np.log10(steps), color=PALETTE[1], linewidth=1.5, gid="line")
        for is_later, face, gid in ((False, PALETTE[0], "evaluations"), (True, "none", "came later")):
            part = is_shown & ((fit.curve.compute > fit.fitted.last_compute) == is_later)
            style: Look = {
                "linestyle": "none",
                "marker": "o",
                "markersize": 4,
                "markerfacecolor": face,
                "alpha": 0.75,
            }
            axes.plot(
                fit.curve.compute[part], log_f(fit.curve.value[part], best), color=PALETTE[0], gid=gid, **style
            )
        axis.put_on(axes)
        axes.set_ylabel("log\N{SUBSCRIPT ONE}\N{SUBSCRIPT ZERO} F (pass rate)")
        axes.set_title(_slope(fit), loc="left", fontsize=11)
        figure.supxlabel(caption(fit), fontsize=SMALL)
    return figure


def log_f(value: Vector, best: Parameters) -> Vector:
    """Decimal logarithm of F at each value."""
    odds = (best.ceiling - best.start) / (value - best.start) - 1
    return best.rate * np.log10(best.place) - np.log10(odds)


def is_between_levels(curve: Curve, best: Parameters) -> NDArray[np.bool_]:
    """Which points lie strictly between start and ceiling, where F is a number; one at zero compute has no log."""
    return (curve.value > best.start) & (curve.value < best.ceiling) & (curve.compute > 0)


def caption(fit: Fit) -> str:
    """How many points the plot leaves out, in words."""
    best, at_zero = fit.draws.best, fit.curve.compute == 0
    num_out = int((~is_between_levels(fit.curve, best) & ~at_zero).sum())
    levels = f"{value_text(best.start)}{DASH}{value_text(best.ceiling)}"
    if not num_out:
        return f"all {int((~at_zero).sum())} points lie between start and ceiling"
    return f"{num_out} of {int((~at_zero).sum())} points outside {levels} are left out"


def _slope(fit: Fit) -> str:
    found = fit.parameters["efficiency"]
    ends = f"{steepness_text(found.low)}{DASH}{steepness_text(found.high)}"
    return f"efficiency (slope) {steepness_text(found.value)} ({ends})"
