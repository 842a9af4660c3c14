"""Simulation-based calibration: parameters drawn from the priors must rank evenly among the draws of their fits.

    python bench/calibration.py [--runs 3000]

A run is drawn as the model says (law, wander, noise), fitted, and the true number's rank among the draws noted
(Talts et al. 2018). If the posterior is right, ranks are uniform; a chi-square test over 20 bins says how likely
such counts are.
"""

import argparse
import sys

import numpy as np
from scipy import stats

from scalerl.scaling.law import law
from scalerl.scaling.posterior import LARGEST_WANDER, SMALLEST_WANDER, Problem, sample
from scalerl.scaling.priors import LogNormal, Priors
from scalerl.scaling.wander import basis, correlation

NAMES = ("ceiling", "efficiency", "midpoint", "start", "level at twice the compute")
NUM_BINS = 20
AHEAD = 2.0


def cut_log_normal(prior: LogNormal, deviations: float, rng: np.random.Generator) -> float:
    """A number from a log-normal that ends after so many deviations."""
    part = stats.truncnorm.rvs(-deviations, deviations, random_state=rng)
    return float(prior.median * np.exp(prior.spread * part))


def cut_half_cauchy(scale: float, rng: np.random.Generator) -> float:
    low, high = (2 / np.pi * np.arctan(end / scale) for end in (SMALLEST_WANDER, LARGEST_WANDER))
    return float(scale * np.tan(np.pi / 2 * rng.uniform(low, high)))


def simulate(rng: np.random.Generator) -> tuple[Problem, dict[str, float]]:
    """A problem drawn from the priors, and the truth behind it."""
    chosen, priors, factor_prior = law("sigmoid"), Priors(), LogNormal(median=0.7, spread=0.25)
    num_points = int(rng.integers(6, 60))
    compute = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 1, num_points - 1))])
    compute[-1] = 1.0
    variance = rng.uniform(0.5, 2, num_points) * 10 ** rng.uniform(-5, -3.5)
    rate, place = cut_log_normal(chosen.rate_prior, 4.0, rng), cut_log_normal(priors.place, 2.8, rng)
    factor = cut_log_normal(factor_prior, 4.0, rng)
    size, start = cut_half_cauchy(priors.wander, rng), rng.uniform()
    ceiling = start + (1 - start) * rng.beta(1, 1 + priors.headroom_power)
    everywhere = np.append(compute, AHEAD)
    covariance = size**2 * correlation(everywhere, everywhere)
    level = chosen(everywhere, ceiling=ceiling, rate=rate, place=place, start=start)
    level = level + rng.multivariate_normal(np.zeros(num_points + 1), covariance, method="eigh")
    value = level[:-1] + rng.standard_normal(num_points) * np.sqrt(factor * variance)
    problem = Problem(
        law=chosen,
        priors=priors,
        ceiling=None,
        unit=1.0,
        compute=compute,
        value=value,
        factor=factor_prior,
        basis=basis(compute, variance),
    )
    return problem, dict(zip(NAMES, (ceiling, rate, place, start, float(level[-1])), strict=True))


def ranks(num_runs: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Share of the draws below the truth, for each number and run."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for number in range(num_runs):
        rng = np.random.default_rng([seed, number])
        problem, truth = simulate(rng)
        draws = sample(problem, rng)
        assert draws.strays is not None
        ahead = draws.law_values(AHEAD)[:, 0] + draws.strays(np.array([AHEAD]))[:, 0]
        parts = (draws.ceiling, draws.rate, draws.place, draws.start, ahead)
        for name, part in zip(NAMES, parts, strict=True):
            found[name].append(float((part < truth[name]).mean()))
        print(f"{number + 1} of {num_runs}", end="\r", file=sys.stderr)
    return {name: np.array(part) for name, part in found.items()}


def evenness(rank: np.ndarray) -> float:
    """Probability of counts at least this uneven if ranks are uniform."""
    counts = np.histogram(rank, NUM_BINS, (0, 1))[0]
    return float(stats.chisquare(counts).pvalue)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3000)
    found = ranks(parser.parse_args().runs)
    print(
        f"{'number':28} {'p-value':>8} {'50%':>6} {'80%':>6} {'90%':>6} {'95%':>6}   counts of the ranks in 20 bins"
    )
    for name, rank in found.items():
        inside = [np.mean(np.abs(rank - 0.5) <= level / 2) for level in (0.5, 0.8, 0.9, 0.95)]
        counts = np.histogram(rank, NUM_BINS, (0, 1))[0]
        print(f"{name:28} {evenness(rank):8.3f}", *(f"{part:6.3f}" for part in inside), "  ", *counts)


if __name__ == "__main__":
    main()
