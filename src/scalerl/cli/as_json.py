"""Results as JSON: one object a line, strictly valid, null for never and for what is not known."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from scalerl.cli.reading import Run
from scalerl.scaling.backtest import Backtest, Outcome, Score
from scalerl.scaling.budget import Budget
from scalerl.scaling.comparison import Comparison, Pair
from scalerl.scaling.estimate import Estimate, estimate
from scalerl.scaling.fit import Fit
from scalerl.scaling.forecast import Forecast, Target
from scalerl.scaling.pairing import PairedDifference
from scalerl.scaling.reach import HORIZON
from scalerl.scaling.seeds import Recipe
from scalerl.scaling.shared_ceiling import SharedCeiling
from scalerl.scaling.windows import Window

Json: TypeAlias = dict[str, Any]


def line(record: Json) -> str:
    """Write one object in one line; a number that JSON cannot hold becomes null.

    >>> line({"value": 0.5, "high": float("inf")})
    '{"value": 0.5, "high": null}'
    """
    return json.dumps(_strict(record), allow_nan=False)


def fit_record(run: Run, fit: Fit, windows: Sequence[Window] = ()) -> Json:
    """A fit; `windows` are added where they were asked for."""
    record: Json = {
        **_about(run, fit),
        "level": fit.level,
        "fitted_from": float(fit.fitted.compute[0]),
        "fitted_until": fit.fitted.last_compute,
        "parameters": {name: _estimate(one) for name, one in fit.parameters.items()},
        "identified": fit.is_identified,
        "needed_compute": fit.identification.needed_compute,
        "warnings": list(fit.warnings),
    }
    return {**record, "windows": [_window(window) for window in windows]} if windows else record


def forecast_record(run: Run, forecast: Forecast, notes: Sequence[str] = ()) -> Json:
    """A forecast."""
    return {
        **_about(run, forecast.fit),
        "level": forecast.level,
        "fitted_until": forecast.fit.fitted.last_compute,
        "width_factor": forecast.fit.draws.width_factor,
        "points": [
            {
                "compute": point.compute,
                "value": point.value,
                "low": point.low,
                "high": point.high,
                "extrapolation": point.extrapolation,
                "evaluation_low": point.evaluation_low,
                "evaluation_high": point.evaluation_high,
            }
            for point in forecast.points
        ],
        "targets": [_target(target) for target in forecast.targets],
        "never_beyond": HORIZON * forecast.fit.fitted.last_compute,
        "warnings": [*forecast.warnings, *notes],
    }


def budget_record(run: Run, budget: Budget, notes: Sequence[str] = ()) -> Json:
    """What a target costs."""
    low, middle, high = budget.saturation
    return {
        **_about(run, budget.fit),
        "level": budget.level,
        "fitted_until": budget.fit.fitted.last_compute,
        "target": _target(budget.target),
        "remaining": budget.remaining,
        "cost_per_unit": budget.cost_per_unit,
        "remaining_cost": budget.cost(budget.remaining),
        "gain": budget.worthwhile_gain,
        "saturation": {"compute": middle, "low": low, "high": high},
        "spend": {
            "compute": budget.spend.compute,
            "cost": budget.cost(budget.spend.compute),
            "gain": _estimate(budget.spend.gain),
            "probability_worth_it": budget.spend.probability_worth_it,
            "advice": budget.spend.advice,
        },
        "warnings": [*budget.warnings, *notes],
    }


def comparison_record(comparison: Comparison, files: Mapping[str, Sequence[str]], task: str | None = None) -> Json:
    """A comparison; `files` are those of each recipe by its name."""
    return {
        "task": task,
        "level": comparison.level,
        "margin": comparison.margin,
        "spread": comparison.spread,
        "units": list(comparison.units),
        "recipes": [_recipe(one, files[one.name], comparison.level) for one in comparison.recipes],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "shared_ceiling": comparison.shared and _shared(comparison.shared),
        "warnings": list(comparison.warnings),
    }


def backtest_records(runs: Sequence[Run], backtest: Backtest) -> tuple[Json, ...]:
    """A back-test run by run, and last, where there are several, of all together (its file is null)."""
    each = tuple(_backtest([run], backtest.about(run.curve.name)) for run in runs)
    return each if len(runs) == 1 else (*each, _backtest(runs, backtest))


def _backtest(runs: Sequence[Run], backtest: Backtest) -> Json:
    return {
        "file": runs[0].file if len(runs) == 1 else None,
        "files": list(dict.fromkeys(run.file for run in runs)),
        "scores": [_score(score) for score in backtest.scores()],
        "outcomes": [_outcome(outcome) for outcome in backtest.outcomes],
        "skipped": [{"run": run, "cut": cut} for run, cut in backtest.skipped],
        "warnings": list(dict.fromkeys(f"{run.curve.name}: {word}" for run in runs for word in run.curve.warnings)),
    }


def _about(run: Run, fit: Fit) -> Json:
    return {
        "file": run.file,
        "name": run.curve.name,
        "task": run.task,
        "law": fit.law.name,
        "method": fit.method,
        "num_points": len(fit.fitted),
        "unit": fit.curve.unit,
    }


def _estimate(one: Estimate | None) -> Json | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high}


def _window(window: Window) -> Json:
    parameters = {} if window.fit is None else window.fit.parameters
    return {
        "since": window.since,
        "until": window.until,
        "num_points": None if window.fit is None else len(window.fit.fitted),
        "parameters": {name: _estimate(one) for name, one in parameters.items()} or None,
    }


def _target(target: Target) -> Json:
    return {
        "target": target.target,
        "compute": target.compute,
        "low": target.low,
        "high": target.high,
        "probability": target.probability,
    }


def _recipe(recipe: Recipe, files: Sequence[str], level: float) -> Json:
    return {
        "name": recipe.name,
        "files": list(files),
        "ceiling": _estimate(estimate(recipe.ceiling, level)),
        "fits": [{name: _estimate(one) for name, one in fit.parameters.items()} for fit in recipe.fits],
    }


def _pair(pair: Pair) -> Json:
    crossing = pair.crossing
    return {
        "first": pair.first,
        "second": pair.second,
        "unit": pair.unit,
        "at": pair.at,
        "probability_better": pair.probability_better,
        "difference": _estimate(pair.difference),
        "band_end": pair.band_end,
        "probability_better_over_band": pair.probability_better_over_band,
        "target": pair.target,
        "ratio": _estimate(pair.ratio),
        "ratio_probability": pair.ratio_probability,
        "crossing": {
            "compute": _estimate(crossing.compute),
            "probability": crossing.probability,
            "since": crossing.since,
            "until": crossing.until,
        },
        "ceilings": pair.ceilings,
        "ceiling_difference": _estimate(pair.ceiling_difference),
        "paired": pair.paired and _paired(pair.paired),
    }


def _paired(paired: PairedDifference) -> Json:
    return {
        "first_compute": paired.first_compute,
        "second_compute": paired.second_compute,
        "num_prompts": paired.num_prompts,
        "difference": _estimate(paired.difference),
        "probability_better": paired.probability_better,
    }


def _shared(shared: SharedCeiling) -> Json:
    return {
        "ceiling": shared.ceiling,
        "is_fair": shared.is_fair,
        "recipes": {
            name: {
                "efficiency": _estimate(shared.efficiency[name]),
                "midpoint": _estimate(shared.midpoint[name]),
                "probability_most_efficient": shared.probability_most_efficient[name],
            }
            for name in shared.efficiency
        },
    }


def _score(score: Score) -> Json:
    return {
        "method": score.method,
        "cut": score.cut,
        "num_runs": score.num_runs,
        "error": score.error,
        "crps": score.crps,
        "interval_score": score.interval_score,
        "coverage": score.coverage and {f"{level:g}": share for level, share in score.coverage.items()},
        "coverage_error": score.coverage_error,
    }


def _outcome(outcome: Outcome) -> Json:
    low, high = outcome.band(0.9) if outcome.has_band else (None, None)
    return {
        "run": outcome.run,
        "method": outcome.method,
        "cut": outcome.cut,
        "compute": outcome.compute,
        "predicted": outcome.predicted,
        "low": low,
        "high": high,
        "actual": outcome.actual,
        "error": outcome.error,
        "crps": outcome.crps,
    }


def _strict(part: object) -> object:
    """Numbers that are finite or null, at any depth."""
    if isinstance(part, dict):
        return {str(key): _strict(one) for key, one in cast(dict[object, object], part).items()}
    if isinstance(part, list):
        return [_strict(one) for one in cast(list[object], part)]
    return None if isinstance(part, float) and not math.isfinite(part) else part
