"""The pieces of the posterior against brute force, and the whole against truths that are known."""

import calibration
import numpy as np
import pytest
from made_curves import TABLE_1, noiseless, noisy
from scipy import integrate, stats

from scalerl import fit, law
from scalerl.scaling.noise import noise
from scalerl.scaling.posterior import Problem, posterior
from scalerl.scaling.priors import Priors
from scalerl.scaling.wander import Wander, basis, correlation


def covariance(compute, variance, factor, size):
    return factor * np.diag(variance) + size**2 * correlation(compute, compute)


def test_wander_between_points_is_that_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    compute, variance = np.array([0, 0.1, 0.2, 0.5, 1.0]), rng.uniform(1e-5, 1e-4, 5)
    residual, size, factor = rng.normal(0, 0.02, 5), 0.03, 0.8
    at = np.array([0.7, 3.0])
    frame = basis(compute, variance)
    paths = [
        Wander(
            compute=compute,
            unit=10.0,
            basis=frame,
            residual=frame.project(residual[None]),
            size=np.array([size]),
            factor=np.array([factor]),
            luck=np.array([luck]),
        )(at * 10)[0]
        for luck in (0.0, 1.0)
    ]
    cross = size**2 * correlation(at, compute)
    whole = covariance(compute, variance, factor, size)
    mean = cross @ np.linalg.solve(whole, residual)
    spread = np.sqrt(size**2 - np.diag(cross @ np.linalg.solve(whole, cross.T)))
    assert paths[0] == pytest.approx(mean) and paths[1] - paths[0] == pytest.approx(spread)


@pytest.mark.parametrize("ceiling", [None, 0.6])
def test_density_of_a_parameter_set_is_the_normal_likelihood_integrated_over_the_levels(ceiling):
    curve = noisy(num_points=7, num_samples=300)
    problem = Problem.of(curve, law("sigmoid"), ceiling, Priors())
    rows = np.array([[-0.3, -3.5, 0.5, -1.0], [0.1, -5.0, 0.9, -2.0], [-0.6, -2.5, 0.2, 0.5]])
    ours = problem.candidates(rows, np.random.default_rng(0)).log_density
    ours = ours - problem._log_prior(*rows.T)
    variance = noise(curve).variance
    for row, found in zip(rows, ours, strict=True):
        factor, size, rate, place = np.exp(row)
        normal = stats.multivariate_normal(cov=covariance(curve.compute / 12_000, variance, factor, size))
        share = law("sigmoid").share(curve.compute / 12_000, rate, place)

        def likelihood(start, headroom, normal=normal, share=share):
            top = start + (1 - start) * headroom if ceiling is None else ceiling
            weight = (1 - headroom) ** Priors().headroom_power if ceiling is None else 1.0
            return normal.pdf(curve.value - start - (top - start) * share) * weight

        if ceiling is None:
            whole = integrate.dblquad(likelihood, 0, 1, 0, 1, epsabs=0, epsrel=1e-4)[0]
        else:
            whole = integrate.quad(likelihood, 0, 1, args=(0.0,), points=[0.3], epsabs=0)[0]
        # The determinant of the noise and the powers of 2 pi are left out of the log-density on purpose.
        constant = 0.5 * len(curve) * np.log(2 * np.pi) + 0.5 * np.log(variance).sum() - 0.5 * np.log(2 * np.pi)
        assert found == pytest.approx(np.log(whole) + constant, abs=0.02)


@pytest.mark.parametrize("name", TABLE_1)
def test_noiseless_rows_of_the_papers_table_are_recovered(name):
    midpoint, efficiency, ceiling = TABLE_1[name]
    found = fit(noiseless(name))
    assert found.parameters["ceiling"].value == pytest.approx(ceiling, rel=0.01)
    assert found.parameters["efficiency"].value == pytest.approx(efficiency, rel=0.05)
    assert found.parameters["midpoint"].value == pytest.approx(midpoint, rel=0.05)
    assert found.parameters["start"].value == pytest.approx(0.3, abs=0.005)
    assert found.is_identified


def test_ranks_of_truths_drawn_from_the_priors_are_uniform():
    for name, rank in calibration.ranks(300, seed=1).items():
        assert calibration.evenness(rank) > 1e-3, (name, np.histogram(rank, 20, (0, 1))[0])


def test_intervals_cover_truths_that_are_drawn_answer_by_answer():
    truth, hits = {"ceiling": 0.61, "efficiency": 1.92, "midpoint": 2542.0}, []
    for seed in range(100):
        found = fit(noisy(seed)).parameters
        hits.append([found[name].low <= value <= found[name].high for name, value in truth.items()])
    coverage = np.mean(hits, axis=0)
    assert (coverage >= 0.82).all(), coverage


def test_same_curve_same_draws_other_curve_other_draws():
    one, again, other = posterior(noisy(1), law("sigmoid")), posterior(noisy(1), law("sigmoid")), noisy(2)
    assert (one.ceiling == again.ceiling).all()
    assert not (one.ceiling == posterior(other, law("sigmoid")).ceiling).any()


@pytest.mark.parametrize("unit_scale", [1e-12, 1.0, 1e22])
def test_units_of_compute_do_not_matter(unit_scale):
    curve = noisy(3)
    from scalerl import Curve

    scaled = Curve.of(curve.compute * unit_scale, curve.value, unit="flops", num_samples=curve.num_samples)
    found, plain = posterior(scaled, law("sigmoid")), posterior(curve, law("sigmoid"))
    assert found.best.place / unit_scale == pytest.approx(plain.best.place, rel=0.02)
    assert found.best.ceiling == pytest.approx(plain.best.ceiling, abs=0.002)


def test_more_samples_give_narrower_intervals():
    widths = [fit(noisy(num_samples=n)).parameters["ceiling"].half_width for n in (200, 2_000, 20_000)]
    assert widths[0] > widths[1] > widths[2]


def test_start_far_outside_of_its_bounds_lies_at_the_nearer_one():
    from scalerl.scaling.levels import Start

    far = Start(mean=np.array([[1.5], [-0.5], [0.4]]), deviation=np.full((3, 1), 0.01), log_height=np.zeros((3, 1)))
    drawn = far.draw(np.random.default_rng(0))[:, 0]
    assert drawn[0] == pytest.approx(1) and drawn[1] == pytest.approx(0, abs=1e-9) and 0.35 < drawn[2] < 0.45
