"""The exact prediction of one hidden unit, against importance draws from its prior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from engine import network
from engine.networks.predictive import outputs
from engine.networks.quadrature import one_unit


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_the_quadrature_is_an_integral_over_all_four_weights(activation):
    x, y = np.array([[-1.5], [-0.4], [0.2], [1.1]]), np.array([-0.8, 0.3, 0.9, 0.1])
    truth = one_unit(tuple(x[:, 0]), tuple(y), 0.7, activation, 1.0, 0.8)
    assert truth is not None
    # importance draws from the prior: another way to the same integral
    net = network(1, 1, 1, activation=activation, likelihood="gaussian", prior_sd=1.0, noise_sd=0.8)
    theta = net.prior_draws(400_000, seed=3)
    weight = net.log_likelihood(x, y).log_density_many(theta)
    weight = np.exp(weight - weight.max())
    value = outputs(net, theta, [[0.7]])[:, 0, 0]
    mean = np.average(value, weights=weight)
    error = np.sqrt(np.sum((weight * (value - mean)) ** 2)) / weight.sum()
    assert abs(mean - truth.expectation) < 4 * error < 0.05
    total = integrate.quad(lambda v: float(truth.density(np.array([v]))[0]), -6, 6, limit=200)[0]
    assert total == pytest.approx(1.0, abs=1e-3) and truth.share_above(-9.0) == pytest.approx(1.0)


def test_a_grid_that_is_too_coarse_is_not_believed():
    assert one_unit((-1.0, 0.0, 1.0), (-1.0, 0.5, 1.0), 0.0, "tanh", 10.0, 0.01) is None
