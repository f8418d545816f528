"""Laplace: exact for a linear network; curvature against formulas; singular points refused."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import linear
from engine.networks import predictive
from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.training import difference_gradient, difference_hessian, gauss_newton, laplace
from engine.training.laplace import HESSIANS
from tests.engine.networks import reference

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (25, 2))
Y = X @ [1.5, -0.7] + 0.4 + 0.3 * RNG.standard_normal(25)
LINE = engine.network(2, 1, depth=0, likelihood="gaussian", noise_sd=0.3, prior_sd=1.2)
DESIGN = np.hstack([X, np.ones((25, 1))])
EXACT = linear.solve(DESIGN, Y, noise_sd=0.3, prior_sd=1.2)
COVARIANCE = EXACT.root @ EXACT.root.T


@pytest.mark.parametrize("hessian", HESSIANS)
def test_it_is_the_posterior_of_a_linear_network(hessian):
    found = laplace(LINE, X, Y, EXACT.mean, hessian=hessian)
    assert found.covariance == pytest.approx(COVARIANCE, rel=1e-8, abs=1e-12)
    assert found.sd == pytest.approx(np.sqrt(np.diag(COVARIANCE)))
    assert found.log_evidence == pytest.approx(EXACT.log_evidence, abs=1e-7)
    assert found.root @ found.root.T == pytest.approx(found.precision)
    bands = found.bands(X)
    assert bands.mean[:, 0] == pytest.approx(DESIGN @ EXACT.mean)
    assert bands.epistemic[:, 0] == pytest.approx(np.sqrt(np.einsum("ni,ij,nj->n", DESIGN, COVARIANCE, DESIGN)))
    assert bands.total == pytest.approx(np.hypot(bands.epistemic, 0.3))


def test_draws_have_the_moments_of_the_posterior_and_a_jitter_shows():
    found = laplace(LINE, X, Y, EXACT.mean)
    wrong = laplace(LINE, X, Y, EXACT.mean, jitter=20.0)
    assert np.allclose(wrong.precision, found.precision + 20 * np.eye(3)) and wrong.jitter == 20.0
    squares = {}
    for name, approximation in (("right", found), ("wrong", wrong)):
        draws = approximation.draw(40_000, seed=3)
        centred = (draws - EXACT.mean) @ np.linalg.inv(EXACT.root).T
        z = centred.mean(axis=0) * np.sqrt(len(draws))
        assert np.abs(z).max() < 4
        squares[name] = ((centred**2).sum(axis=1).mean() / 3 - 1) / np.sqrt(2 / 3 / len(draws))
    assert abs(squares["right"]) < 4 < abs(squares["wrong"])
    assert np.array_equal(found.draw(5, seed=3), found.draw(5, seed=3))


NETWORKS = [
    engine.network(2, 1, width=2, likelihood="bernoulli", temper=0.8),
    engine.network(2, 3, width=2, likelihood="softmax", temper=1.2),
    engine.network(2, 2, width=3, activation="sigmoid", likelihood="gaussian", noise_sd=0.6),
]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.likelihood)
def test_the_hessian_is_that_of_values(network):
    x, y = reference.samples(network, 12, 2)
    target, theta = network.posterior(x, y), network.prior_draws(1, 4)[0]
    found = difference_hessian(target, theta)
    assert np.array_equal(found, found.T)
    h = 1e-3
    for i, j in ((0, 0), (1, 5), (3, network.dim - 1)):
        a, b = h * np.eye(network.dim)[i], h * np.eye(network.dim)[j]
        corners = [target.log_density(theta + s * a + t * b) for s, t in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
        assert found[i, j] == pytest.approx((corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h), abs=2e-3)
    assert difference_gradient(target, theta) == pytest.approx(target.log_density_and_gradient(theta)[1], abs=1e-7)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.likelihood)
def test_gauss_newton_is_the_curvature_of_outputs_that_are_linear(network):
    # Without hidden units the outputs are linear in theta, and both curvatures are one.
    flat = engine.network(2, network.outputs, depth=0, likelihood=network.likelihood, temper=network.temper, noise_sd=network.noise_sd)
    x, y = reference.samples(flat, 12, 2)
    theta = flat.prior_draws(1, 4)[0]
    exact = -difference_hessian(flat.log_likelihood(x, y), theta)
    assert gauss_newton(flat, theta, x) == pytest.approx(exact, abs=1e-7)
    curved = gauss_newton(network, network.prior_draws(1, 4)[0], x)
    assert np.linalg.eigvalsh(curved)[0] > -1e-9 * np.linalg.eigvalsh(curved)[-1]


def test_at_a_mode_of_a_small_network():
    network = engine.network(1, 1, width=1, likelihood="gaussian", noise_sd=0.2, prior_sd=1.0)
    x = np.linspace(-2, 2, 200)[:, None]  # enough that the posterior is nearly normal
    y = np.tanh(1.5 * x[:, 0]) + 0.2 * np.random.default_rng(3).standard_normal(200)
    mode = network.map_estimate(x, y, seed=1)
    found = laplace(network, x, y, mode.theta)
    recording = engine.sample(network.posterior(x, y), "nuts", chains=2, draws=1500, warmup=500, seed=1, init=mode.theta)
    assert found.sd == pytest.approx(recording.draws.reshape(-1, 4).std(axis=0), rel=0.25)
    drawn = predictive.bands(network, found.draw(2000, seed=1), x)
    assert drawn.epistemic == pytest.approx(found.bands(x).epistemic, rel=0.25)


def test_points_that_are_no_mode_are_refused():
    network = engine.network(2, 1, width=2, likelihood="bernoulli", prior_sd=10.0)
    corners, labels = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    with pytest.raises(TargetError, match="not a mode"):
        laplace(network, corners, labels, np.linspace(-2.0, 2.0, 9))
    with pytest.raises(SpecError, match="hessian"):
        laplace(network, corners, labels, np.zeros(9), hessian="exact")
    with pytest.raises(SpecError, match="jitter"):
        laplace(network, corners, labels, np.zeros(9), jitter=-1.0)
    fitted = laplace(network, corners, labels, np.zeros(9), hessian="gauss_newton")
    with pytest.raises(SpecError, match="classes"):
        fitted.bands(corners)
