"""Networks drawn from the prior: the functions against numpy, the wide limit against quadrature and against draws."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.special import erf

from engine.networks.prior import ACTIVATIONS, CHUNK, Prior, activation_moment, activation_power
from engine.spec import SpecError

X = np.array([-1.3, 0.2, 0.9])
PHI = {
    "tanh": np.tanh,
    "erf": erf,
    "relu": lambda z: np.maximum(z, 0.0),
    "step": lambda z: np.where(z >= 0, 1.0, -1.0),
    "linear": lambda z: z,
}


def plain(prior: Prior, theta, x):
    """One network in numpy."""
    h, at = np.asarray(x)[None], 0
    for n_in, n_out in zip(prior.sizes[:-1], prior.sizes[1:], strict=True):
        weights = theta[at : at + n_in * n_out].reshape(n_out, n_in)
        at += n_in * n_out
        z = weights @ h + theta[at : at + n_out, None]
        at += n_out
        h = z if at == prior.dim else PHI[prior.activation](z)
    return np.tanh(h[0]) if prior.squash == "tanh" else h[0]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("squash", ["none", "tanh"])
def test_functions_are_those_of_numpy(activation, depth, squash):
    prior = Prior(width=5, depth=depth, activation=activation, out_bias_sd=0.3, squash=squash)
    theta = prior.draw(6, seed=3)
    expected = np.stack([plain(prior, row, X) for row in theta])
    assert prior.values(theta, X) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def by_grid(phi, s1, s2, rho, power=1):
    """E[phi(s1 u)^power phi(s2 v)^power] on a fine grid."""
    z = np.linspace(-9, 9, 2401)
    weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    inner = np.array([(weight * phi(s2 * (rho * u + math.sqrt(1 - rho**2) * z)) ** power).sum() for u in z])
    return float((weight * phi(s1 * z) ** power * inner).sum())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("s1", "s2", "rho"), [(1.0, 2.0, 0.5), (4.0, 3.0, -0.8), (0.3, 6.0, 0.95), (9.0, 9.0, 0.9)])
def test_moments_of_activations_against_quadrature(activation, s1, s2, rho):
    found = activation_moment(activation, np.array([s1**2]), np.array([rho * s1 * s2]), np.array([s2**2]))[0]
    rough = activation in ("step", "relu")  # a grid resolves corners to its step
    assert found == pytest.approx(by_grid(PHI[activation], s1, s2, rho), rel=2e-3 if rough else 1e-7, abs=5e-3 * rough)


def test_steep_tanh_is_nearly_a_step():
    for rho in (0.3, 0.99, 1.0):
        square = np.array([1e8])
        steep, step = (activation_moment(name, square, rho * square, square)[0] for name in ("tanh", "step"))
        assert steep == pytest.approx(step, abs=2e-3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_powers_of_activations(activation):
    z = np.linspace(-9, 9, 200_001)
    weight = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    for s in (0.5, 3.0, 30.0):
        for power in (2, 4):
            expected = float((weight * PHI[activation](s * z) ** power).sum())
            assert activation_power(activation, s, power) == pytest.approx(expected, rel=1e-6)


def z_scores(prior: Prior, kernel, n: int, seed: int):
    values = prior.values(prior.draw(n, seed), X)
    products = values[:, :, None] * values[:, None, :]
    return (products.mean(axis=0) - kernel) / (products.std(axis=0, ddof=1) / math.sqrt(n))


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("width", [1, 20])
def test_one_layer_has_the_kernel_at_every_width(activation, width):
    prior = Prior(width=width, activation=activation, weight_sd=1.5, bias_sd=0.7, out_sd=2.0, out_bias_sd=0.4)
    assert np.abs(z_scores(prior, prior.covariance(X, X), 40_000, seed=width)).max() < 4.5


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_wide_deep_networks_approach_the_kernel(activation):
    prior = Prior(width=150, depth=2, activation=activation, weight_sd=1.5, bias_sd=0.7)
    assert np.abs(z_scores(prior, prior.covariance(X, X), 1500, seed=1)).max() < 4.5


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_given_the_layer_before_the_kernel_is_exact_in_narrow_networks(activation):
    prior = Prior(width=3, depth=2, activation=activation, weight_sd=1.5, bias_sd=0.7, out_bias_sd=0.2)
    theta = prior.draw(4000, seed=2)
    hidden = PHI[activation](theta[:, :3, None] * X + theta[:, 3:6, None])
    values = prior.values(theta, X)
    gap = values[:, :, None] * values[:, None, :] - prior.given(hidden)
    assert np.abs(gap.mean(axis=0) / (gap.std(axis=0) / math.sqrt(len(gap)))).max() < 4.5


@pytest.mark.parametrize("changes", [{"scaling": "none"}, {"scaling": "full"}, {"bias_sd": 0.5}, {"weight_sd": 2.5}, {"activation": "erf"}])
def test_a_wrong_prior_is_seen(changes):
    right = Prior(width=16, weight_sd=1.5, bias_sd=1.0)
    wrong = right.replace(**changes)
    assert np.abs(z_scores(wrong, right.covariance(X, X), 40_000, seed=4)).max() > 6


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_shape_becomes_gaussian_as_one_over_k(activation):
    exact = {}
    for width in (1, 4, 32):
        prior = Prior(width=width, activation=activation, weight_sd=1.5, bias_sd=0.7)
        exact[width] = prior.excess_kurtosis(0.4)
        values = prior.values(prior.draw(60_000, seed=width), [0.4])[:, 0]
        fourth = values**4
        true = (3 + exact[width]) * float(prior.variance(0.4)[0]) ** 2
        assert abs(fourth.mean() - true) / (fourth.std() / math.sqrt(len(fourth))) < 4.5
    assert exact[1] == pytest.approx(4 * exact[4], rel=1e-9) and exact[4] == pytest.approx(8 * exact[32], rel=1e-9)


def test_the_seed_decides_and_longer_draws_begin_alike():
    prior = Prior(width=2)
    long = prior.draw(CHUNK + 10, seed=5)
    assert np.array_equal(long[:100], prior.draw(100, seed=5))
    assert not np.array_equal(long[:10], prior.draw(10, seed=6))
    assert not np.array_equal(long[:10], long[CHUNK:])
    assert pickle.loads(pickle.dumps(prior)) == prior


def test_functions_of_many_networks_are_those_of_the_networks_drawn():
    prior, n = Prior(width=3, depth=2), CHUNK + 10
    assert np.array_equal(prior.functions(n, 5, X), prior.values(prior.draw(n, 5), X))


@pytest.mark.parametrize(
    ("name", "value"), [("width", 0), ("depth", 9), ("activation", "sine"), ("weight_sd", math.nan), ("scaling", "cube"), ("squash", "x")]
)
def test_a_wrong_parameter_is_named(name, value):
    with pytest.raises(SpecError) as error:
        Prior(**{name: value})
    assert error.value.parameter == name


def test_too_many_weights_are_refused():
    with pytest.raises(SpecError, match="lower width or depth"):
        Prior(width=512, depth=3)
