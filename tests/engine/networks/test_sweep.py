"""The sweep over a network, its prior's scales and its noise: every Gibbs draw against its density, the whole sweep by
Geweke's joint test and by calibration, exact answers for linear networks, and what the recording makes of the draws.
"""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

import engine
from engine.diagnostics import ess_mean, summarise
from engine.networks import predictive
from engine.networks.mlp import HEADER
from engine.networks.passes import ROW
from engine.networks.scales import VARIANTS, draw_cosh, draw_means, draw_precisions, groups_of
from engine.networks.sweep import log_density_of, put_in_force, sample_network, start_network
from engine.spec import SpecError
from engine.targets.target import TargetError
from tests.engine.networks import reference

SMALL = engine.network(1, 1, width=2, likelihood="gaussian", noise_sd=0.5)
X = np.array([[-1.5], [-0.5], [0.5], [1.5]])
Y = np.array([-0.8, -0.4, 0.3, 1.1])
WRONG = [variant for variant in VARIANTS if variant != "exact"]
LEARNED = ("per_layer", "per_input", "per_weight")


def generator(seed):
    return np.random.Generator(np.random.SFC64(seed))


def z_score(values, true):
    """Error of the mean of values (chains, draws) in Monte Carlo standard errors."""
    return (values.mean() - true) / (values.std() / np.sqrt(ess_mean(values)))


# Groups, and the density that NUTS sees.


def test_groups_share_what_they_say():
    network = engine.network(2, 1, width=2, likelihood="gaussian")  # W1[1,1] W1[1,2] W1[2,1] W1[2,2] b1 b1 W2 W2 b2
    layers = groups_of(network, "per_layer", scale_by_width=True)
    assert layers.names == ("W1", "b1", "W2", "b2")
    assert layers.group.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3]
    assert layers.factor.tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 1]
    inputs = groups_of(network, "per_input")
    assert inputs.names == ("W1[:,1]", "W1[:,2]", "b1", "W2", "b2")
    assert inputs.group.tolist() == [0, 1, 0, 1, 2, 2, 3, 3, 4]
    assert groups_of(network, "per_weight").names == network.labels
    assert inputs.counts.tolist() == [2, 2, 2, 2, 1]


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli", "softmax"])
def test_the_density_is_that_of_the_scales_in_force(likelihood):
    outputs = 3 if likelihood == "softmax" else 1
    network = engine.network(2, outputs, width=3, depth=2, likelihood=likelihood)
    x, y = reference.samples(network, 5, seed=1)
    run = start_network(network, x, y, weights="per_weight", chains=1)
    rng, scales, chain = np.random.default_rng(2), run._scales[0], run._chains[0]
    scales.precisions[:] = rng.gamma(2.0, size=network.dim)
    scales.noise[0] = 2.5 if likelihood == "gaussian" else 1.0
    put_in_force(chain.scratch, scales, run._rules)

    def expected(theta):
        prior = -0.5 * np.sum(scales.precisions * theta**2)
        if likelihood == "gaussian":
            off = y - reference.outputs(network, theta, x)
            return prior - 0.5 * 2.5 * np.sum(off**2) - 0.5 * y.size * np.log(2.0 * np.pi)
        return prior + reference.log_likelihood(network, theta, x, y)

    theta = chain.position
    assert log_density_of(*chain.arguments(run.target)) == pytest.approx(expected(theta), rel=1e-12)
    for j in range(network.dim):
        step = np.zeros(network.dim)
        step[j] = 1e-5
        slope = (expected(theta + step) - expected(theta - step)) / 2e-5
        assert chain.gradient[j] == pytest.approx(slope, rel=1e-6, abs=1e-7)


# Each conditional against its density.


def precisions_drawn(variant, n=4000):
    network = engine.network(2, 1, width=3, likelihood="gaussian")
    theta = 1.5 * network.prior_draws(1, seed=3)[0]
    groups = groups_of(network, "per_input", scale_by_width=True)
    rng, drawn = generator(4), np.empty((n, len(groups.names)))
    for row in drawn:
        draw_precisions(rng, theta, groups.group, groups.factor, 1.5, 0.7, VARIANTS.index(variant), row)
    p = []
    for g, draws in enumerate(drawn.T):
        mine = groups.group == g
        rate = 0.7 + 0.5 * np.sum(groups.factor[mine] * theta[mine] ** 2)
        p.append(stats.kstest(draws, stats.gamma(1.5 + 0.5 * mine.sum(), scale=1.0 / rate).cdf).pvalue)
    return min(p)


def test_precisions_follow_their_gamma_distributions():
    assert precisions_drawn("exact") > 1e-4


@pytest.mark.parametrize("variant", WRONG)
def test_wrong_precisions_do_not(variant):
    assert precisions_drawn(variant) < 1e-8


@pytest.mark.parametrize("a", [1e-8, 0.05, 1.0, 40.0, 1e5])
def test_the_log_scale_follows_its_density(a):
    rng = generator(5)
    drawn = np.array([draw_cosh(rng, a) for _ in range(20_000)])
    t = np.linspace(-1.0, 1.0, 40_001) * np.arccosh(1.0 + 50.0 / a)
    below = integrate.cumulative_simpson(np.exp(-2.0 * a * np.sinh(0.5 * t) ** 2), x=t, initial=0.0)
    assert stats.kstest(drawn, lambda at: np.interp(at, t, below / below[-1])).pvalue > 1e-4


def test_means_of_their_own_keep_the_prior():
    """Draws from the joint prior of lambda, mean, scale and weight, all three then redrawn: the prior again."""
    n, rng = 20_000, np.random.default_rng(6)
    mixing, sd = rng.normal(size=n) ** 2, np.abs(rng.normal(size=n))
    means = rng.normal(size=n) / np.sqrt(mixing)
    theta, precisions = means + sd * rng.normal(size=n), sd**-2.0
    weight_before = theta.copy()
    for _ in range(3):
        draw_means(generator(7), theta, means, mixing, precisions)
    assert np.array_equal(theta, weight_before)
    assert stats.kstest(means, stats.cauchy.cdf).pvalue > 1e-4
    assert stats.kstest(precisions**-0.5, stats.halfnorm.cdf).pvalue > 1e-4
    assert stats.kstest(mixing, stats.chi2(1).cdf).pvalue > 1e-4
    assert stats.kstest((theta - means) * np.sqrt(precisions), stats.norm.cdf).pvalue > 1e-4


# Geweke's joint test: draw the data given the parameters after every sweep; all unknowns then follow the prior.


def joint_run(weights, draws, variant="exact", seed=8):
    network = engine.network(1, 1, width=2, likelihood="gaussian", activation="tanh")
    run = start_network(
        network,
        X,
        Y,
        weights=weights,
        noise="learned",
        chains=1,
        draws=draws,
        warmup=0,
        tuning="fixed",
        seed=seed,
        step_size=0.5,
        max_depth=5,
        start="prior",
        weight_shape=3.0,
        weight_rate=2.0,
        noise_shape=3.0,
        noise_rate=2.0,
        variant=variant,
    )
    rng, data = np.random.default_rng(seed), run.target.data
    for _ in range(draws):
        z = reference.outputs(network, run._chains[0].position, X)[:, 0]
        data.flags.writeable = True
        data[HEADER + ROW : HEADER + ROW + len(X)] = z + rng.standard_normal(len(X)) / np.sqrt(run._scales[0].noise[0])
        data.flags.writeable = False
        run.advance(1)
    return run.recording()


def joint_quantiles(recording):
    """(draws, ...) prior quantiles of noise precision, scales and weights."""
    quantiles = [stats.gamma.cdf(2.0 * recording.noise_precision, 3.0)[..., None]]
    if recording.spec.weights == "own_mean":
        quantiles += [2.0 * stats.cauchy.cdf(np.abs(recording.means)) - 1.0]
        quantiles += [2.0 * stats.norm.cdf(recording.precisions**-0.5) - 1.0]
    else:
        quantiles += [stats.gamma.cdf(2.0 * recording.precisions, 3.0)]
        quantiles += [stats.t.cdf(recording.draws * np.sqrt(1.5), 6.0)]
    return np.concatenate(quantiles, axis=2)[0]


def joint_p_value(weights, draws, variant="exact", runs=20):
    """Of the worst of their means, squares and distances from the middle, times their number. Each run begins at a draw
    of all, so that runs are independent and unbiased however slowly a chain moves: a t test over them.
    """
    means = []
    for seed in range(8, 8 + runs):
        u = joint_quantiles(joint_run(weights, draws // runs, variant, seed))
        means.append(np.concatenate([v.mean(axis=0) for v in (u - 0.5, u**2 - 1.0 / 3.0, np.abs(u - 0.5) - 0.25)]))
    p = stats.ttest_1samp(means, 0.0, axis=0).pvalue
    return float(p.min() * p.size)


@pytest.mark.parametrize("weights", ["per_layer", "per_weight", "own_mean"])
def test_joint_distribution_of_everything_and_the_data(weights):
    assert joint_p_value(weights, 10_000) > 1e-4


@pytest.mark.parametrize("variant", WRONG)
def test_the_joint_test_sees_wrong_draws(variant):
    assert joint_p_value("per_layer", 20_000, variant, runs=40) < 1e-6


# Simulation-based calibration: the rank of the true value among posterior draws is uniform.


def calibration_ranks(replications, seed, variant="exact"):
    """Ranks (replications, 4) of f at 0.7, log noise precision, log precision of W2 and sum of log precisions, among 19
    thinned draws."""
    rng = np.random.default_rng(seed)
    shapes = SMALL.layer_shapes
    ranks = np.empty((replications, 4), int)
    for r in range(replications):
        precisions, noise = rng.gamma(3.0, 0.5, 2 * len(shapes)), rng.gamma(3.0, 0.5)
        counts = [count for pair in shapes for count in pair]
        theta = rng.normal(size=SMALL.dim) / np.sqrt(np.repeat(precisions, counts))
        y = reference.outputs(SMALL, theta, X)[:, 0] + rng.normal(size=len(X)) / np.sqrt(noise)
        found = sample_network(
            SMALL,
            X,
            y,
            weights="per_layer",
            noise="learned",
            chains=1,
            draws=19 * 12,
            warmup=100,
            seed=r,
            weight_shape=3.0,
            weight_rate=2.0,
            noise_shape=3.0,
            noise_rate=2.0,
            variant=variant,
            max_depth=6,
        )

        def seen(f, noise, precisions):
            logs = np.log(precisions)
            return np.stack([f, np.log(noise), logs[..., 2], logs.sum(axis=-1)], axis=-1)

        true = seen(reference.outputs(SMALL, theta, [[0.7]])[0, 0], noise, precisions)
        f = found.outputs([[0.7]])[0, ::12, 0, 0]
        ranks[r] = np.sum(seen(f, found.noise_precision[0, ::12], found.precisions[0, ::12]) < true, axis=0)
    return ranks


def chi_square(ranks):
    """Chi-square of 5 bins of four ranks each, 4 degrees of freedom, the worst of the quantities."""
    counts = np.stack([np.bincount(column // 4, minlength=5) for column in ranks.T])
    expected = len(ranks) / 5
    return float(np.max(((counts - expected) ** 2 / expected).sum(axis=1)))


LIMIT = 25.0  # of chi-square with 4 degrees of freedom: 5e-5 each


def test_calibration():
    assert chi_square(calibration_ranks(250, seed=9)) < LIMIT


@pytest.mark.long
def test_calibration_long():
    assert chi_square(calibration_ranks(8_000, seed=10)) < LIMIT


@pytest.mark.long
@pytest.mark.parametrize("variant", WRONG)
def test_calibration_catches_wrong_draws(variant):
    assert chi_square(calibration_ranks(1_500, seed=11, variant=variant)) > LIMIT


# Linear networks, where the answer is known.

LINEAR = engine.network(2, 1, depth=0, likelihood="gaussian", prior_sd=0.8, noise_sd=0.6)
RNG = np.random.default_rng(12)
PLANE_X = RNG.normal(size=(12, 2))
PLANE_Y = PLANE_X @ [1.2, -0.4] + 0.5 + 0.6 * RNG.normal(size=12)
NEW = np.array([[0.0, 0.0], [2.0, -1.0]])


def given_precisions(weight, bias, noise):
    """Log evidence, and mean and variance of f at NEW, of Bayesian linear regression with these precisions."""
    design, at = np.column_stack([PLANE_X, np.ones(12)]), np.column_stack([NEW, np.ones(2)])
    prior = np.diag([1.0 / weight, 1.0 / weight, 1.0 / bias])
    evidence = stats.multivariate_normal(np.zeros(12), design @ prior @ design.T + np.eye(12) / noise).logpdf(PLANE_Y)
    covariance = np.linalg.inv(np.linalg.inv(prior) + noise * design.T @ design)
    mean = covariance @ design.T @ PLANE_Y * noise
    return evidence, at @ mean, np.einsum("ij,jk,ik->i", at, covariance, at)


def mixture(log_weight, means, variances):
    p = np.exp(log_weight - logsumexp(log_weight))
    mean = p @ means
    return mean, p @ (variances + means**2) - mean**2


def predicted(found):
    """Errors in MCSE of a recording's mean and variance of f at NEW."""

    def errors(mean, variance):
        f = found.outputs(NEW)[..., 0]
        return [z_score(f[..., i], mean[i]) for i in range(2)] + [z_score((f[..., i] - mean[i]) ** 2, variance[i]) for i in range(2)]

    return errors


def test_a_linear_network_is_bayesian_linear_regression():
    found = sample_network(LINEAR, PLANE_X, PLANE_Y, weights="fixed", chains=4, draws=10_000, warmup=300, seed=13)
    _, mean, variance = given_precisions(0.8**-2, 0.8**-2, 0.6**-2)
    assert np.abs(predicted(found)(mean, variance)).max() < 4
    bands = found.bands(NEW)
    assert bands.total[:, 0] == pytest.approx(np.sqrt(variance + 0.36), rel=0.02)


def test_with_learned_noise_it_is_the_mixture_over_the_noise():
    found = sample_network(
        LINEAR, PLANE_X, PLANE_Y, weights="fixed", noise="learned", noise_shape=2.0, chains=4, draws=10_000, warmup=300, seed=14
    )
    grid = np.exp(np.linspace(-5.0, 4.0, 400))
    rows = [given_precisions(0.8**-2, 0.8**-2, noise) for noise in grid]
    log_weight = np.array([row[0] for row in rows]) + stats.gamma.logpdf(grid, 2.0) + np.log(grid)
    mean, variance = mixture(log_weight, np.array([r[1] for r in rows]), np.array([r[2] for r in rows]))
    assert np.abs(predicted(found)(mean, variance)).max() < 4
    noise_variance = np.exp(log_weight - logsumexp(log_weight)) @ (1.0 / grid)
    assert abs(z_score(1.0 / found.noise_precision, noise_variance)) < 4
    new = found.predict(NEW, seed=1)[..., 0]
    assert abs(z_score((new[..., 1] - mean[1]) ** 2, variance[1] + noise_variance)) < 4


def layer_mixture():
    grid = np.exp(np.linspace(-5.0, 4.0, 60))
    pairs = [(weight, bias) for weight in grid for bias in grid]
    rows = [given_precisions(*pair, 0.6**-2) for pair in pairs]
    prior = [sum(stats.gamma.logpdf(t, 2.0) + np.log(t) for t in pair) for pair in pairs]
    log_weight = np.array([row[0] for row in rows]) + prior
    return mixture(log_weight, np.array([r[1] for r in rows]), np.array([r[2] for r in rows]))


def test_with_learned_precisions_it_is_the_mixture_over_them():
    settings = {"weights": "per_layer", "weight_shape": 2.0, "chains": 4, "draws": 10_000, "warmup": 300, "seed": 15}
    exact = layer_mixture()
    assert np.abs(predicted(sample_network(LINEAR, PLANE_X, PLANE_Y, **settings))(*exact)).max() < 4
    wrong = sample_network(LINEAR, PLANE_X, PLANE_Y, variant="no_half_count", **settings)
    assert np.abs(predicted(wrong)(*exact)).max() > 6


# The run.


@pytest.mark.parametrize("weights", ["per_layer", "own_mean"])
def test_the_same_bytes_in_any_pieces(weights):
    settings = {"weights": weights, "noise": "learned", "chains": 2, "draws": 30, "warmup": 40, "seed": 16}
    whole = sample_network(SMALL, X, Y, **settings)
    run = start_network(SMALL, X, Y, **settings)
    for n in (1, 2, 30, 1, 9, 20, 7):
        run = pickle.loads(pickle.dumps(run))
        run.advance(n)
    assert run.done
    pieces = run.recording()
    for name in ("draws", "precisions", "means", "noise_precision", "log_density", "start"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name)), name
    assert np.array_equal(whole.warmup_gradient_evaluations, pieces.warmup_gradient_evaluations)
    alone = sample_network(SMALL, X, Y, **{**settings, "chains": 1})
    assert np.array_equal(alone.draws[0], whole.draws[0])


def test_densities_recorded_are_those_of_the_draws():
    found = sample_network(SMALL, X, Y, weights="per_input", noise="learned", width_scaling="yes", chains=1, draws=20)
    for i in (0, 19):
        theta = found.theta[0, i]
        off = Y - reference.outputs(SMALL, theta, X)[:, 0]
        log_likelihood = stats.norm.logpdf(off, scale=found.noise_sd[0, i]).sum()
        assert found.log_likelihood[0, i] == pytest.approx(log_likelihood)
        log_prior = stats.norm.logpdf(theta, scale=found.prior_sd[0, i]).sum()
        assert found.log_density[0, i] == pytest.approx(log_likelihood + log_prior)


def test_what_the_recording_predicts():
    found = sample_network(SMALL, X, Y, noise="learned", chains=2, draws=50, warmup=50, seed=17)
    f = found.outputs(X)
    assert f.shape == (2, 50, 4, 1)
    assert f[1, 3] == pytest.approx(reference.outputs(SMALL, found.theta[1, 3], X))
    assert found.quantiles(X, [0.1, 0.9])[1] == pytest.approx(np.quantile(f, 0.9, axis=(0, 1)))
    wide, narrow = (np.ptp(found.quantiles(X, [0.05, 0.95], noise=noise), axis=0) for noise in (True, False))
    assert np.all(wide > narrow)
    each = stats.norm.pdf(Y[:, None], f, found.noise_sd[:, :, None, None])
    assert found.log_score(X, Y) == pytest.approx(np.log(each.mean(axis=(0, 1))))
    assert found.bands(X).mean == pytest.approx(f.mean(axis=(0, 1)))
    assert found.bands(X).aleatoric[0, 0] == pytest.approx(np.sqrt(np.mean(found.noise_sd**2)))
    assert np.array_equal(found.function_diagnostics(X).ess_bulk, summarise(f[..., 0]).ess_bulk)


def test_classes_have_probabilities_and_no_noise():
    network = engine.network(2, 3, width=2)
    x, y = reference.samples(network, 12, seed=18)
    found = sample_network(network, x, y, weights="per_layer", chains=2, draws=40, warmup=40)
    pooled = predictive.decompose(network, found.draws.reshape(-1, network.dim), x)
    assert found.uncertainty(x).mean == pytest.approx(pooled.mean)
    likelihood = [reference.log_likelihood(network, theta, x, y) for theta in found.draws[0]]
    assert found.log_likelihood[0] == pytest.approx(likelihood)
    with pytest.raises(SpecError, match="noise"):
        sample_network(network, x, y, noise="learned")
    for call in (found.predict, found.bands):
        with pytest.raises(SpecError, match="likelihood"):
            call(x)


@pytest.mark.parametrize(
    "setting, parameter",
    [
        ({"weights": "mine"}, "weights"),
        ({"weight_rate": 0.0}, "weight_rate"),
        ({"draws": 0}, "draws"),
        ({"draws": 1_000_000, "chains": 64}, "draws"),
        ({"weights": "fixed", "variant": "no_square"}, "variant"),
        ({"weights": "own_mean", "width_scaling": "yes"}, "width_scaling"),
        ({"steps": 3}, "steps"),
    ],
)
def test_a_wrong_setting_is_named(setting, parameter):
    with pytest.raises(SpecError) as error:
        start_network(SMALL, X, Y, **setting)
    assert error.value.parameter == parameter


def test_data_that_do_not_fit_are_named():
    with pytest.raises(TargetError, match="y has shape"):
        sample_network(SMALL, X, Y[:3])


def test_more_hidden_layers_and_every_activation_mix():
    """Neal's mass: the tuned step is near one width of the posterior, whatever the scales of inputs and layers."""
    for activation, depth in (("tanh", 2), ("relu", 1), ("sigmoid", 1), ("linear", 1), ("elu", 2)):
        network = engine.network(1, 1, width=3, depth=depth, activation=activation, likelihood="gaussian")
        for scale in (1.0, 100.0):
            found = sample_network(network, scale * X, Y, noise="learned", chains=1, draws=50, warmup=300, seed=19)
            assert 0.05 < found.step_size[0, -1] < 3.0, (activation, depth, scale)
    assert all(a < b for a, b in pairwise(found.gradient_evaluations.cumsum()))
