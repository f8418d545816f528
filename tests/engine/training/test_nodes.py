"""The pass node by node: against differences, against the kernel, and the wrong passes against both."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.spec import SpecError
from engine.targets.target import TargetError
from engine.training import activation, activation_slope, difference_gradient, forward, jacobian, pass_nodes
from tests.engine.networks import reference

NETWORKS = [
    engine.network(2, 1, width=3, depth=2, activation="tanh", likelihood="bernoulli", temper=0.7),
    engine.network(3, 2, width=2, depth=1, activation="sigmoid", likelihood="gaussian", noise_sd=0.4),
    engine.network(2, 3, width=4, depth=2, activation="relu", likelihood="softmax", temper=1.3),
    engine.network(2, 2, depth=0, likelihood="softmax"),
    engine.network(2, 1, width=4, depth=2, activation="elu", likelihood="gaussian", noise_sd=0.5),
]


def one(network, seed=5):
    x, y = reference.samples(network, 1, seed)
    return network.prior_draws(1, seed)[0], x[0], y[0]


def error(network, variant="exact"):
    theta, x, y = one(network)
    nodes = pass_nodes(network, theta, x, y, variant)
    truth = -difference_gradient(network.log_likelihood(x[None], np.asarray(y)[None]), theta)
    return np.abs(nodes.gradient - truth).max() / np.abs(truth).max()


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{network.likelihood}-{network.activation}{network.depth}")
def test_the_gradient_is_that_of_differences_and_of_the_kernel(network):
    theta, x, y = one(network)
    nodes = pass_nodes(network, theta, x, y)
    value, gradient = network.log_likelihood(x[None], np.asarray(y)[None]).log_density_and_gradient(theta)
    assert nodes.loss == pytest.approx(-value, rel=1e-12)
    assert nodes.gradient == pytest.approx(-gradient, rel=1e-10, abs=1e-12)
    assert error(network) < 1e-8  # of differences
    assert nodes.layers[-1][1] == pytest.approx(reference.outputs(network, theta, x[None])[0])
    for (pre, value_), delta in zip(nodes.layers[:-1], nodes.delta[:-1], strict=True):
        assert value_ == pytest.approx(reference.PHI[network.activation](pre))
        assert delta.shape == pre.shape


@pytest.mark.parametrize("variant", ["no_slope", "no_bias"])
def test_wrong_passes_are_wrong(variant):
    for network in (*NETWORKS[:3], NETWORKS[4]):
        assert error(network, variant) > 1e-2


def test_a_network_without_hidden_units_has_no_slope_to_forget():
    assert error(NETWORKS[3], "no_slope") < 1e-9


@pytest.mark.parametrize("name", engine.networks.mlp.ACTIVATIONS)
def test_slopes_of_the_activations(name):
    z = np.linspace(-3.05, 3.05, 31)
    differences = (activation(name, z + 1e-6) - activation(name, z - 1e-6)) / 2e-6
    assert activation_slope(name, z[z != 0]) == pytest.approx(differences[z != 0], abs=1e-8)
    assert activation(name, z) == pytest.approx(reference.PHI[name](z))


@pytest.mark.parametrize("network", NETWORKS[:3], ids=lambda network: network.likelihood)
def test_jacobian_of_the_outputs(network):
    x, _ = reference.samples(network, 5, 1)
    theta = network.prior_draws(1, 2)[0]
    found = jacobian(network, theta, x)
    assert found.shape == (5, network.outputs, network.dim)
    for p in range(network.dim):
        move = 1e-6 * np.eye(network.dim)[p]
        change = forward(network, theta + move, x)[-1].value - forward(network, theta - move, x)[-1].value
        assert found[:, :, p] == pytest.approx(change / 2e-6, abs=1e-7)


def test_what_does_not_fit_is_named():
    theta, x, y = one(NETWORKS[0])
    with pytest.raises(SpecError, match="variant"):
        pass_nodes(NETWORKS[0], theta, x, y, "backwards")
    with pytest.raises(SpecError, match="theta"):
        pass_nodes(NETWORKS[0], theta[1:], x, y)
    with pytest.raises(TargetError, match="x has"):
        pass_nodes(NETWORKS[0], theta, [1.0], y)
    with pytest.raises(TargetError, match="label"):
        pass_nodes(NETWORKS[0], theta, x, 2)
