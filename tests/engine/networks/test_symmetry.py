"""The symmetries of a hidden layer: they leave function and density, and a rule picks one of all copies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine import network
from engine.networks import symmetry
from engine.networks.predictive import outputs

RNG = np.random.Generator(np.random.SFC64(1))
NETWORKS = {
    "two": network(1, 1, 2, activation="tanh", likelihood="gaussian"),
    "three": network(1, 1, 3, activation="tanh", likelihood="gaussian"),
    "four": network(1, 1, 4, activation="tanh", likelihood="gaussian"),
    "classes": network(2, 1, 3, activation="tanh", likelihood="bernoulli"),
    "relu": network(1, 1, 3, activation="relu", likelihood="gaussian"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_symmetry_leaves_function_and_density(name):
    net = NETWORKS[name]
    theta, x = net.prior_draws(1, seed=5), RNG.normal(size=(12, net.inputs))
    every = symmetry.elements(net)
    assert len(set(every)) == len(every) == symmetry.copies(net)
    count = math.factorial(net.width) * (2**net.width if net.activation == "tanh" else 1)
    assert symmetry.copies(net) == count
    made = np.concatenate([symmetry.act(net, theta, *element) for element in every])
    assert len(np.unique(made.round(12), axis=0)) == count, "all copies are different places"
    density = net.posterior(x, RNG.integers(0, 2, 12)).log_density_many(made)
    assert np.ptp(density) < 1e-11 * max(1.0, abs(density[0]))
    function = outputs(net, made, x)
    assert np.ptp(function, axis=0).max() < 1e-12


@pytest.mark.parametrize("rule", ["output", "bend"])
def test_sorting_picks_the_same_draw_of_all_copies(rule):
    net = NETWORKS["three"]
    theta, x = net.prior_draws(1, seed=5), RNG.normal(size=(12, 1))
    made = np.concatenate([symmetry.act(net, theta, *element) for element in symmetry.elements(net)])
    first = symmetry.ordered(net, made, rule)
    assert np.allclose(first, first[0], rtol=0, atol=1e-15)
    parts, _ = symmetry.by_unit(net, first[0])
    if rule == "output":
        assert (parts[:, -1] > 0).all() and (np.diff(parts[:, -1]) <= 0).all()
    else:
        assert (parts[:, 0] > 0).all() and (np.diff(-parts[:, 1] / parts[:, 0]) >= 0).all()
    assert np.allclose(outputs(net, first[:1], x), outputs(net, theta, x))
