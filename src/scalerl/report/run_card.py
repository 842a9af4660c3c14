"""The card of one run."""

from __future__ import annotations

from collections.abc import Sequence

from scalerl.report.efficiency_figure import caption, efficiency_figure
from scalerl.report.forecast_figure import forecast_figure
from scalerl.report.hindsight import hindsight
from scalerl.report.html_parts import bullets, details, figure_part, heading, paragraph, section, table_part
from scalerl.report.kept import Kept
from scalerl.report.parameter_table import parameter_table
from scalerl.report.sentences import advice, earlier, expectation, sentence
from scalerl.report.tables import forecast_table, target_table, windows_table
from scalerl.scaling.backtest import Backtest
from scalerl.scaling.curve import METRIC_NAMES, UNIT_NAMES
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, ForecastPoint
from scalerl.scaling.number_text import compute_text
from scalerl.scaling.windows import Window


def run_card(
    asked: Forecast,
    headline: ForecastPoint,
    windows: Sequence[Window],
    backtest: Backtest,
    anchor: str,
    kept: Kept,
    *,
    is_open: bool,
) -> str:
    """One run: what to expect, the picture, the numbers, the doubts, and how the method did earlier in it."""
    return section(
        [
            heading(asked.fit.curve.name, 2),
            paragraph(_what_was_fitted(asked.fit), "soft"),
            *_alarms(kept),
            paragraph(expectation(asked, headline), "headline"),
            paragraph(advice(asked.fit)) if not asked.fit.is_identified else "",
            *_what_came(asked, kept),
            _picture(asked, anchor),
            *_doubts(asked),
            table_part(forecast_table([asked]).without("Run")),
            table_part(target_table([asked]).without("Run")) if asked.targets else "",
            table_part(parameter_table(asked.fit)),
            *_earlier(asked.fit, backtest),
            details("Efficiency, and fits of other windows", _more(asked.fit, windows, anchor), is_open=is_open),
        ],
        anchor,
    )


def refusal_card(name: str, reason: str, anchor: str, kept: Kept) -> str:
    """A run that could not be fitted, and why."""
    words = paragraph(f"Not fitted: {reason}.", "headline")
    return section([heading(name, 2), *_alarms(kept), words], anchor)


def _what_was_fitted(fit: Fit) -> str:
    unit = UNIT_NAMES[fit.curve.unit]
    ends = [compute_text(float(end)) for end in (fit.fitted.compute[0], fit.fitted.compute[-1])]
    whole = f" of {len(fit.curve)}" if len(fit.fitted) < len(fit.curve) else ""
    return f"{len(fit.fitted)}{whole} evaluations fitted, from {ends[0]} to {ends[1]} {unit}; law {fit.law.name}."


def _alarms(kept: Kept) -> list[str]:
    if not kept.alarms:
        return []
    return [heading("Alarms of the run", 3), bullets(kept.alarms, "warnings")]


def _what_came(asked: Forecast, kept: Kept) -> list[str]:
    """What the run froze comes first; what is forecast anew is left out where it would only say the same again."""
    fit, seen = asked.fit, hindsight(asked)
    frozen = kept.shown(fit.curve)
    told = [] if frozen is None else [paragraph(kept.in_words(fit.curve), "came")]
    last = None if fit.fitted.step is None else float(fit.fitted.step[-1])
    if seen is None or (frozen is not None and frozen.made_at_step == last and seen.num_averaged == 1):
        return told
    words = seen.in_words()
    if frozen is not None:
        words = f"Made anew for this page, from the {len(fit.fitted)} evaluations fitted here. {words}"
    return [*told, paragraph(words, "came")]


def _picture(asked: Forecast, anchor: str) -> str:
    curve = asked.fit.curve
    words = f"{METRIC_NAMES[curve.metric]} of {curve.name} against compute, with the fitted law and its forecast."
    return figure_part(forecast_figure(asked), f"{anchor}-forecast", words)


def _doubts(asked: Forecast) -> list[str]:
    """Warnings; the one about the ceiling stands in the headline already."""
    words = [one for one in asked.warnings if one not in asked.fit.identification.in_words]
    if not words:
        return []
    return [heading("Beware", 3), bullets([sentence(one) for one in words], "warnings")]


def _earlier(fit: Fit, backtest: Backtest) -> list[str]:
    whole = "this run" if len(fit.fitted) == len(fit.curve) else "the fitted part"
    words = earlier(backtest, fit.curve.name, whole)
    if not words:
        return []
    return [heading("Had you asked earlier", 3), bullets(words)]


def _more(fit: Fit, windows: Sequence[Window], anchor: str) -> list[str]:
    return [_efficiency(fit, anchor), table_part(windows_table(windows))]


def _efficiency(fit: Fit, anchor: str) -> str:
    if fit.law.name != "sigmoid":
        return ""
    words = f"Log F against log compute for {fit.curve.name}: on the law the points lie on a line; {caption(fit)}."
    below = (
        "F = C_mid^B / ((A - R_0) / (R - R_0) - 1): a run that follows the law is a line, its slope the efficiency."
    )
    return figure_part(efficiency_figure(fit), f"{anchor}-efficiency", words, below)
