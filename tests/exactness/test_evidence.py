"""Is the estimated evidence the integral, and its error the truth about itself? Closed forms, quadrature and plain
averages over the prior; wrong variants must be caught.
"""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, t

import engine
from engine import targets
from engine.evidence import EvidenceSpec, architecture_evidence, group_probabilities, log_evidence, model_probabilities

QUICK = EvidenceSpec(particles=64, islands=8, moves=2, trajectory=1.0, seed=4)


def regression(inputs, samples=20, noise_sd=0.6, prior_sd=1.5, seed=3):
    """A linear model as a network without hidden layers, and its exact log evidence: y ~ N(0, noise + prior X X')."""
    rng = np.random.Generator(np.random.SFC64(seed))
    x = rng.standard_normal((samples, inputs))
    y = x @ rng.standard_normal(inputs) + noise_sd * rng.standard_normal(samples)
    network = engine.network(inputs, 1, depth=0, likelihood="gaussian", noise_sd=noise_sd, prior_sd=prior_sd, activation="linear")
    X = np.column_stack([x, np.ones(samples)])
    covariance = noise_sd**2 * np.eye(samples) + prior_sd**2 * X @ X.T
    return network.posterior(x, y), prior_sd, float(multivariate_normal.logpdf(y, cov=covariance))


def judge(found, true, largest_error=0.2):
    """Error in standard errors, of an estimate that must be precise enough to mean something."""
    assert found.error < largest_error, found.error
    return (found.log_evidence - true) / found.error


# Without resampling weights scatter more: finer steps and more populations make up for it.
METHODS = {
    "smc": EvidenceSpec(particles=128, moves=4, seed=2),
    "ais": EvidenceSpec(particles=128, moves=10, islands=48, method="ais", seed=2),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inputs", [1, 5, 11])
def test_conjugate_regression(inputs, method):
    target, prior_sd, true = regression(inputs)
    found = log_evidence(target, METHODS[method], sd=prior_sd)
    assert abs(judge(found, true, 0.2 if inputs < 11 else 0.4)) < 4, found.log_evidence - true


@pytest.mark.parametrize(
    "name,parameters,reference",
    [
        ("gaussian", {"dimension": 6, "correlation": 0.9, "scale_ratio": 5.0}, {"sd": 1.5}),
        ("banana", {}, {"sd": [2.0, 3.0]}),
        ("two_modes", {"separation": 6.0}, {"sd": 4.0}),
    ],
)
def test_densities_of_known_integral(name, parameters, reference):
    target = targets.build(name, **parameters)
    found = log_evidence(target, QUICK.replace(islands=16), **reference)
    assert abs(judge(found, target.truth.log_normaliser)) < 4, found.log_evidence


def test_a_density_with_an_edge():
    """Half of the reference lies where the density is 0."""
    target = targets.normal_gamma()
    found = log_evidence(target, QUICK.replace(islands=32), mean=[0.0, 0.5], sd=[1.5, 1.5])
    assert abs(judge(found, 0.0)) < 4, found.log_evidence


def test_logistic_regression_against_quadrature():
    rng = np.random.Generator(np.random.SFC64(5))
    x = rng.standard_normal((12, 1))
    y = (x[:, 0] + 0.5 * rng.standard_normal(12) > 0).astype(int)
    target = engine.network(1, 1, depth=0, likelihood="bernoulli", prior_sd=2.0).posterior(x, y)
    side, step = np.linspace(-15.0, 15.0, 601, retstep=True)
    grid = target.density_grid(side, side)
    true = np.logaddexp.reduce(grid, axis=None) + 2 * np.log(step)  # smooth, and 0 at the edges: the best of rules
    assert abs(judge(log_evidence(target, QUICK.replace(islands=16), sd=2.0), true)) < 4


def test_small_networks_against_averages_over_the_prior():
    """Eight points of XOR, one to three hidden units: p(y | k) is the mean likelihood of prior draws."""
    x = np.array([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5]]).repeat(2, axis=0)
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    network = engine.network(2, 2, width=(1, 3), temper=2.0)
    found = architecture_evidence(network, x, y, QUICK.replace(particles=128, islands=12, moves=3))
    for i, k in enumerate(found.width):
        one = engine.network(2, 2, width=int(k), temper=2.0)
        likelihood = np.exp(one.log_likelihood(x, y).log_density_many(one.prior_draws(150_000, seed=int(k))))
        relative = likelihood.std() / likelihood.mean() / np.sqrt(len(likelihood))
        difference = found.log_evidence[i] - np.log(likelihood.mean())
        assert abs(difference) < 4 * np.hypot(relative, found.error[i]), (k, difference)
        assert found.error[i] < 0.1


def test_width_scaling_and_likelihood_are_the_same_integral():
    """A posterior against the likelihood with the prior beside it; and a scaled prior against the average over its
    draws, from which the plain prior is far away.
    """
    x = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]])
    y = np.array([0, 1, 0, 1, 0])
    network = engine.network(1, 2, width=3, prior_sd=3.0)
    spec = QUICK.replace(particles=512, islands=16)
    posterior = log_evidence(network.posterior(x, y), spec, sd=3.0)
    likelihood = log_evidence(network.log_likelihood(x, y), spec, sd=3.0, likelihood=True)
    assert likelihood.log_evidence == pytest.approx(posterior.log_evidence, abs=1e-6)
    scaled = architecture_evidence(network, x, y, spec, scale_by_width=True)
    draws = network.prior_draws(400_000, seed=1)
    draws[:, 6:12] /= np.sqrt(3)  # the output weights follow 3 weights and 3 biases
    values = np.exp(network.log_likelihood(x, y).log_density_many(draws))
    relative = values.std() / values.mean() / np.sqrt(len(values))
    difference = scaled.log_evidence[0] - np.log(values.mean())
    assert abs(difference) < 4 * np.hypot(relative, scaled.error[0])
    assert abs(posterior.log_evidence - np.log(values.mean())) > 8 * np.hypot(relative, posterior.error)


def repeated(method, variant="exact", repeats=60):
    """(repeats, 2) log evidence minus the truth and its error, and (repeats * islands,) evidence over the truth."""
    target, prior_sd, true = regression(3)
    runs = [log_evidence(target, QUICK.replace(seed=seed, method=method, variant=variant), sd=prior_sd) for seed in range(repeats)]
    ratios = np.exp(np.concatenate([run.islands for run in runs]) - true)
    return np.array([(run.log_evidence - true, run.error) for run in runs]), ratios


def coverage(pairs, factor=1.0):
    """Share of the 80 % intervals that hold the truth."""
    half = factor * pairs[:, 1] * t.ppf(0.9, QUICK.islands - 1)
    return float(np.mean(np.abs(pairs[:, 0]) < half))


@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_unbiased_and_know_their_error(method):
    pairs, ratios = repeated(method)
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std() / np.sqrt(len(ratios))
    allowed = 4 * np.sqrt(0.8 * 0.2 / len(pairs))
    assert abs(coverage(pairs) - 0.8) < allowed
    assert coverage(pairs, factor=0.4) < 0.8 - allowed, "an error of two fifths of it must be seen to be wrong"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", ["skipped_weight", "late_weights"])
def test_wrong_variants_are_caught(method, variant):
    target, prior_sd, true = regression(5)
    found = log_evidence(target, METHODS[method].replace(particles=512, moves=4, variant=variant), sd=prior_sd)
    spread = np.exp(found.islands - found.islands.max())
    error = spread.std(ddof=1) / spread.mean() / np.sqrt(len(spread))  # `found.error` may know of the mistake
    assert error < 0.2
    assert abs(found.log_evidence - true) > 6 * error, found.log_evidence - true


@pytest.mark.parametrize("errors", [[0.05, 0.02, 0.08, 0.3], [0.5, 2.0, 0.02, 3.0]], ids=["small", "large"])
def test_model_probabilities_carry_their_errors(errors):
    """Against repeated draws of the log evidences."""
    logs, errors = np.array([-3.0, -2.0, -2.5, -9.0]), np.array(errors)
    log_prior = np.log([0.1, 0.2, 0.3, 0.4])
    rng = np.random.Generator(np.random.SFC64(1))
    weights = np.exp(logs + errors * rng.standard_normal((20_000, 4)) + log_prior)
    draws = weights / weights.sum(axis=1, keepdims=True)
    found = model_probabilities(logs, errors, log_prior)
    assert found.probability.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.error, np.sqrt(((draws - found.probability) ** 2).mean(axis=0)), rtol=0.1)
    pair = group_probabilities([0, 0, 1, 1], logs, errors, log_prior)
    np.testing.assert_allclose(pair.probability, found.probability.reshape(2, 2).sum(axis=1))
    apart = (draws - found.probability).reshape(-1, 2, 2).sum(axis=2)
    np.testing.assert_allclose(pair.error, np.sqrt((apart**2).mean(axis=0)), rtol=0.1)
