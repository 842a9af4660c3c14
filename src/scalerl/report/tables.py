"""The tables there are about one run: its fit, its forecast, its windows, its budget, its back-test."""

from __future__ import annotations

from collections.abc import Sequence

from scalerl.report.sentences import price_text
from scalerl.report.table import (
    Cell,
    Column,
    Number,
    Table,
    estimate_column,
    estimated,
    number,
    number_column,
    reached,
    words,
    words_column,
)
from scalerl.scaling.backtest import LEVELS, Backtest, Score
from scalerl.scaling.budget import Budget
from scalerl.scaling.curve import UNIT_NAMES
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, ForecastPoint, Target
from scalerl.scaling.number_text import (
    NEVER,
    UNKNOWN,
    compute_text,
    difference_text,
    interval_text,
    level_text,
    probability_text,
    ratio_text,
    steepness_text,
    value_text,
)
from scalerl.scaling.windows import Window

__all__ = [
    "Cell",
    "Column",
    "Number",
    "Table",
    "backtest_table",
    "budget_table",
    "fit_table",
    "forecast_table",
    "target_table",
    "windows_table",
]

SYMBOLS = {
    "ceiling": "$A$",
    "efficiency": "$B$",
    "midpoint": r"$C_{\mathrm{mid}}$",
    "start": "$R_0$",
    "reference": "$C_0$",
    "scale": r"$C_{\mathrm{scale}}$",
}
ORDER = ("midpoint", "reference", "scale", "efficiency", "ceiling", "start")  # that of the paper's Table 1
COMPUTES = ("midpoint", "reference", "scale")


def fit_table(fits: Sequence[Fit]) -> Table:
    """The parameters of each run, in the shape of the paper's Table 1 with intervals in it."""
    names = [name for name in ORDER if any(name in fit.parameters for fit in fits)]
    return Table(
        title="Parameters",
        columns=(
            words_column("Run", "run", "unit"),
            *(_parameter_column(name, fits) for name in names),
            words_column("Ceiling identified", "is_identified"),
        ),
        rows=tuple(
            (
                words(fit.curve.name, fit.curve.name, fit.curve.unit),
                *(_parameter_cell(fit, name) for name in names),
                words("yes" if fit.is_identified else "no"),
            )
            for fit in fits
        ),
        notes=(intervals_note(fits[0].level),) if fits else (),
    )


def forecast_table(forecasts: Sequence[Forecast]) -> Table:
    """The level expected at each named compute of each run."""
    level = level_text(forecasts[0].level) if forecasts else level_text(0.9)
    return Table(
        title="Forecast",
        columns=(
            words_column("Run", "run", "unit"),
            number_column(_with_unit("Compute", [one.fit for one in forecasts]), "compute"),
            number_column("Times the fit", "extrapolation"),
            number_column("Level", "level"),
            Column(title=f"{level} band", fields=("low", "high")),
            Column(title="One evaluation", fields=("evaluation_low", "evaluation_high")),
        ),
        rows=tuple(_forecast_row(one.fit, point) for one in forecasts for point in one.points),
        notes=("The band is for the mean level; one evaluation adds the noise of its samples.",),
    )


def target_table(forecasts: Sequence[Forecast]) -> Table:
    """The compute at which each named value is reached."""
    return Table(
        title="Compute to reach a value",
        columns=(
            words_column("Run", "run", "unit"),
            number_column("Value", "target"),
            estimate_column(_with_unit("Compute", [one.fit for one in forecasts]), "compute"),
            number_column("Reached at all", "probability"),
        ),
        rows=tuple(_target_row(one.fit, target) for one in forecasts for target in one.targets),
        notes=("Never counts: a value reached with probability 80% has no upper end in a 90% interval.",),
    )


def windows_table(windows: Sequence[Window]) -> Table:
    """How the parameters depend on where the fit starts and ends (the paper's appendix A.7)."""
    fits = [window.fit for window in windows if window.fit is not None]
    names = [name for name in ORDER[:-1] if any(name in fit.parameters for fit in fits)]
    return Table(
        title="Fits of other windows",
        columns=(
            number_column(_with_unit("From", fits), "since"),
            number_column("To", "until"),
            *(_parameter_column(name, fits) for name in reversed(names)),
        ),
        rows=tuple(
            (
                number(window.since, compute_text),
                number(window.until, compute_text),
                *(_parameter_cell(window.fit, name) for name in reversed(names)),
            )
            for window in windows
        ),
        notes=("A ceiling that moves from window to window is not to be believed.",),
    )


def budget_table(budgets: Sequence[Budget]) -> Table:
    """What a target costs, from where more compute stops paying, and whether to go on."""
    has_price = any(budget.cost_per_unit is not None for budget in budgets)
    costs = (number_column("Cost of the rest", "remaining_cost"),) if has_price else ()
    return Table(
        title="Budget",
        columns=(
            words_column("Run", "run", "unit"),
            number_column("Target", "target"),
            estimate_column(_with_unit("Reached at", [budget.fit for budget in budgets]), "compute"),
            number_column("Reached at all", "probability"),
            number_column("Still to spend", "remaining"),
            *costs,
            estimate_column("Saturates at", "saturation"),
            estimate_column("Gain of the next step", "gain"),
            words_column("Advice", "advice"),
        ),
        rows=tuple(_budget_row(budget, has_price) for budget in budgets),
        notes=tuple(dict.fromkeys(_budget_note(budget) for budget in budgets)),
    )


def backtest_table(backtest: Backtest) -> Table:
    """How far off each method was at each cut."""
    return Table(
        title="Back-test",
        columns=(
            number_column("Cut", "cut"),
            words_column("Method", "method"),
            number_column("Runs", "num_runs"),
            number_column("Mean error", "error"),
            number_column("CRPS", "crps"),
            number_column("90% band held", "coverage_90"),
            Column(title="Held at 50/80/95%", fields=("coverage_50", "coverage_80", "coverage_95")),
        ),
        rows=tuple(_score_row(score) for score in backtest.scores()),
        notes=_backtest_notes(backtest),
    )


def intervals_note(level: float) -> str:
    """What the numbers in brackets are."""
    return f"In brackets: the interval that holds the number with probability {level_text(level)}."


def _with_unit(title: str, fits: Sequence[Fit]) -> str:
    names = {UNIT_NAMES[fit.curve.unit] for fit in fits}
    return f"{title} ({names.pop()})" if len(names) == 1 else title


def _parameter_column(name: str, fits: Sequence[Fit]) -> Column:
    title = _with_unit(name.capitalize(), fits) if name in COMPUTES else name.capitalize()
    return estimate_column(title, name, symbol=SYMBOLS[name])


def _parameter_cell(fit: Fit | None, name: str) -> Cell:
    text = compute_text if name in COMPUTES else steepness_text if name == "efficiency" else value_text
    return estimated(None if fit is None else fit.parameters.get(name), text)


def _forecast_row(fit: Fit, point: ForecastPoint) -> tuple[Cell, ...]:
    return (
        words(fit.curve.name, fit.curve.name, fit.curve.unit),
        number(point.compute, compute_text),
        number(point.extrapolation, ratio_text),
        number(point.value, value_text),
        words(interval_text(point.low, point.high), point.low, point.high),
        words(
            interval_text(point.evaluation_low, point.evaluation_high), point.evaluation_low, point.evaluation_high
        ),
    )


def _target_row(fit: Fit, target: Target) -> tuple[Cell, ...]:
    return (
        words(fit.curve.name, fit.curve.name, fit.curve.unit),
        number(target.target, value_text),
        reached(target.compute, target.low, target.high),
        number(target.probability, probability_text),
    )


def _budget_row(budget: Budget, has_price: bool) -> tuple[Cell, ...]:
    curve, target = budget.fit.curve, budget.target
    cost = (number(budget.cost(budget.remaining), compute_text),) if has_price else ()
    return (
        words(curve.name, curve.name, curve.unit),
        number(target.target, value_text),
        reached(target.compute, target.low, target.high),
        number(target.probability, probability_text),
        Cell(text=compute_text(budget.remaining), numbers=(budget.remaining,)),
        *cost,
        _saturation_cell(budget),
        estimated(budget.spend.gain, difference_text),
        words(
            f"{budget.spend.advice} ({probability_text(budget.spend.probability_worth_it)})", budget.spend.advice
        ),
    )


def _saturation_cell(budget: Budget) -> Cell:
    low, middle, high = budget.saturation
    text = reached(middle, low, high).text.replace(NEVER, "later than can be told")
    return Cell(text=text, numbers=(middle, low, high))


def _budget_note(budget: Budget) -> str:
    price = "" if budget.cost_per_unit is None else f" Compute costs {price_text(budget)}."
    more = f"{compute_text(budget.spend.compute)} more {UNIT_NAMES[budget.fit.curve.unit]}"
    return (
        f"The next step is {more}; the advice is to continue if that gains {budget.worthwhile_gain:g} with"
        " probability 50% or more (in brackets). A run saturates where another tenth of its compute gains less."
        f"{price}"
    )


def _score_row(score: Score) -> tuple[Cell, ...]:
    held = {} if score.coverage is None else score.coverage
    others = [held.get(level) for level in LEVELS if level != 0.9]
    text = UNKNOWN if score.coverage is None else "/".join(f"{share:.0%}" for share in others if share is not None)
    return (
        number(score.cut, lambda cut: f"{cut:.0%}"),
        words(score.method),
        number(score.num_runs, lambda num: f"{num:.0f}"),
        number(score.error, value_text),
        number(score.crps, lambda crps: f"{crps:.4f}"),
        number(held.get(0.9), lambda share: f"{share:.0%}"),
        words(text, *others),
    )


def _backtest_notes(backtest: Backtest) -> tuple[str, ...]:
    skipped = len(backtest.skipped)
    return (
        "Predicted is the mean of the last fifth of the hidden points from the points before the cut.",
        *((f"{skipped} cuts had too few points before them.",) if skipped else ()),
    )
