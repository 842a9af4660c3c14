"""Whether a run is off its forecast: a test that looks after every evaluation and errs in at most one of 20 runs.

Each evaluation has a rank in the distribution that was forecast for it from the evaluations before. If the
forecasts are right, these ranks are independent and uniform, however much forecasts have in common: each is made
given all that came before. The test is a gambler who bets against them with a capital of 1 at odds that are fair
or worse. By Ville's inequality a capital of 20 is ever reached with a probability of at most 1/20.

A fifth of the capital bets on shocks: an evaluation far below its forecast, followed by another below what was
forecast before both. So a failed evaluation alone raises nothing. The rest bets on drifts: from some evaluation on
all lie somewhat too low. The stake on "from here on" is spent over the whole run, most of it early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri

THRESHOLD = 20.0
"""Evidence at which a run is called off its forecast: false in at most 1 of 20 runs."""

SHARE_OF_SHOCKS = 0.2
SHOCK_PAYS = THRESHOLD / SHARE_OF_SHOCKS
"""What a shock bet returns, of a stake of 1: one is enough for an alarm."""
CONFIRMED_BELOW = 0.05
SHOCK_PATIENCE, DRIFT_PATIENCE = 100.0, 15.0
"""Evaluations over which half of a stake is spent."""
LEANS = (0.75, 1.5)
"""How far below its forecast, in deviations, a drifting run is supposed to lie."""
SMALLEST_RANK = 1e-3
"""Ranks are told no finer for drifts: a bet must not hang on how far out in the tail one evaluation lies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surprise:
    """Where one evaluation came in the distributions that were forecast for it: the probability of less.

    `rank` is under the forecast from all evaluations before it, `earlier_rank` from all but the last of those.
    """

    rank: float
    earlier_rank: float


def evidence(surprises: Sequence[Surprise]) -> float:
    """The capital after these evaluations: how strongly they speak for a run below its forecasts.

    >>> as_forecast = Surprise(rank=0.5, earlier_rank=0.5)
    >>> round(evidence([as_forecast] * 10), 2), evidence([Surprise(rank=0.1, earlier_rank=0.1)] * 10) > THRESHOLD
    (0.7, True)
    """
    return SHARE_OF_SHOCKS * _of_shocks(surprises) + (1 - SHARE_OF_SHOCKS) * _of_drifts(surprises)


def _stake(number: int, patience: float) -> float:
    """What is put on one evaluation; over all that may ever come the stakes add up to 1."""
    return patience / ((patience + number) * (patience + number + 1))


def _of_shocks(surprises: Sequence[Surprise]) -> float:
    """Capital of bets that each win if a rank is tiny and the next evaluation is low as well.

    A stake s that returns SHOCK_PAYS is fair if it wins with probability s / SHOCK_PAYS; needing the next
    evaluation too makes it worse than fair.
    """
    capital = 1.0
    for number, surprise in enumerate(surprises):
        stake = _stake(number, SHOCK_PATIENCE)
        capital -= stake
        is_confirmed = number + 1 < len(surprises) and surprises[number + 1].earlier_rank < CONFIRMED_BELOW
        if surprise.rank < stake / SHOCK_PAYS and is_confirmed:
            capital += SHOCK_PAYS
    return capital


def _of_drifts(surprises: Sequence[Surprise]) -> float:
    """Capital of bets that normal scores z have the mean -lean from some time on: exp(-lean z - lean^2 / 2)."""
    cash, running = 1.0, [0.0] * len(LEANS)
    for number, surprise in enumerate(surprises):
        stake = _stake(number, DRIFT_PATIENCE)
        cash -= stake
        score = float(ndtri(min(max(surprise.rank, SMALLEST_RANK), 1 - 1e-9)))
        running = [
            (capital + stake / len(LEANS)) * math.exp(-lean * score - lean**2 / 2)
            for capital, lean in zip(running, LEANS, strict=True)
        ]
    return cash + sum(running)
