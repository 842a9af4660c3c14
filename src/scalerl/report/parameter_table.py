"""The parameters of one fit, one row each, with what they mean."""

from __future__ import annotations

from collections.abc import Callable

from scalerl.report.table import Table, estimate_column, estimated, words, words_column
from scalerl.report.tables import COMPUTES, intervals_note
from scalerl.scaling.curve import UNIT_NAMES
from scalerl.scaling.fit import Fit
from scalerl.scaling.number_text import compute_text, steepness_text, value_text

MEANINGS = {
    "ceiling": "where the run ends, however much is spent",
    "efficiency": "how sharply it rises: larger is faster",
    "midpoint": "compute at which half of the gain is reached",
    "reference": "first fitted compute, from which the power law counts",
    "scale": "compute at which 63% of the gain is reached",
    "start": "pass rate before any training",
}


def parameter_table(fit: Fit) -> Table:
    """Each parameter with its interval, whether the points pin it down, and what it is."""
    return Table(
        title="Parameters",
        columns=(
            words_column("Parameter", "parameter"),
            estimate_column("Value", "value"),
            words_column("Pinned down", "is_identified"),
            words_column("What it is", "meaning"),
        ),
        rows=tuple(
            (words(name), estimated(found, _text(name)), words(_pinned(fit, name)), words(_meaning(fit, name)))
            for name, found in fit.parameters.items()
        ),
        notes=(intervals_note(fit.level),),
    )


def _text(name: str) -> Callable[[float], str]:
    return compute_text if name in COMPUTES else steepness_text if name == "efficiency" else value_text


def _pinned(fit: Fit, name: str) -> str:
    known = fit.identification
    if name == "ceiling":
        return "yes" if known.is_ceiling_identified else "no"
    if name == fit.law.rate:
        return "yes" if known.is_rate_identified else "no"
    if name == fit.law.place and fit.law.is_place_free:
        return "yes" if known.is_place_identified else "no"
    return ""


def _meaning(fit: Fit, name: str) -> str:
    unit = f" ({UNIT_NAMES[fit.curve.unit]})" if name in COMPUTES else ""
    return MEANINGS[name] + unit
