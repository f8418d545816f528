"""Predictions against direct formulas on stored probabilities, and the identities of the decomposition."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax, xlogy

from engine.networks import network, predictive
from engine.networks.passes import BLOCK
from engine.spec import SpecError
from engine.targets.target import TargetError
from tests.engine.networks import reference
from tests.engine.networks.test_mlp import networks, seeds

classifiers = networks(likelihoods=("softmax", "bernoulli"))
point_counts = st.sampled_from([1, 9, BLOCK, BLOCK + 1, 2 * BLOCK + 3])


def direct(net, draws, x):
    """Class probabilities (draws, points, classes) by the formulas."""
    z = net.temper * np.stack([reference.outputs(net, theta, x) for theta in draws])
    if net.likelihood == "bernoulli":
        z = np.concatenate([np.zeros_like(z), z], axis=-1)
    return softmax(z, axis=-1)


def entropy(p):
    return -xlogy(p, p).sum(axis=-1)


@settings(max_examples=60, deadline=None)
@given(networks(), point_counts, seeds)
def test_outputs_are_those_of_the_formula(net, points, seed):
    draws, x = net.prior_draws(4, seed), np.random.default_rng(seed).standard_normal((points, net.inputs))
    wanted = np.stack([reference.outputs(net, theta, x) for theta in draws])
    assert predictive.outputs(net, draws, x) == pytest.approx(wanted, rel=1e-11, abs=1e-12 * max(1.0, np.abs(wanted).max()))


@settings(max_examples=60, deadline=None)
@given(classifiers, point_counts, st.integers(1, 20), seeds)
def test_the_decomposition_is_that_of_stored_probabilities(net, points, n, seed):
    draws, x = net.prior_draws(n, seed), np.random.default_rng(seed).standard_normal((points, net.inputs))
    p = direct(net, draws, x)
    assert predictive.probabilities(net, draws, x) == pytest.approx(p, abs=1e-9)
    got = predictive.decompose(net, draws, x)
    assert got.mean == pytest.approx(p.mean(axis=0), abs=1e-9)
    assert got.sd == pytest.approx(p.std(axis=0), abs=1e-7)
    assert got.aleatoric == pytest.approx(entropy(p).mean(axis=0), abs=1e-9)
    assert got.total == pytest.approx(entropy(p.mean(axis=0)), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(classifiers, st.integers(1, 20), seeds, st.sampled_from([1.0, 100.0, 1e5]))
def test_identities_of_the_entropies(net, n, seed, scale):
    x = np.random.default_rng(seed).standard_normal((10, net.inputs))
    u = predictive.decompose(net, scale * net.prior_draws(n, seed), x)
    assert u.mean.sum(axis=1) == pytest.approx(np.ones(10), abs=1e-14)
    assert np.all(u.epistemic >= 0) and np.all(u.aleatoric >= 0)
    assert np.all(u.total <= math.log(net.classes) + 1e-14)
    assert u.total == pytest.approx(u.aleatoric + u.epistemic, abs=1e-12)
    if n == 1:
        assert u.epistemic == pytest.approx(np.zeros(10), abs=1e-12)
        assert u.sd == pytest.approx(np.zeros(u.sd.shape), abs=1e-13)


def test_aleatoric_and_epistemic_are_not_confused():
    """Two draws that are certain of opposite classes: all epistemic. One draw at p = 1/2: all aleatoric. A swap fails
    here.
    """
    net = network(1, 1, depth=0, likelihood="bernoulli")
    torn = predictive.decompose(net, [[0.0, 50.0], [0.0, -50.0]], [[0.0]])
    assert torn.epistemic[0] == pytest.approx(math.log(2)) and torn.aleatoric[0] < 1e-15
    unsure = predictive.decompose(net, [[0.0, 0.0], [0.0, 0.0]], [[0.0]])
    assert unsure.aleatoric[0] == pytest.approx(math.log(2)) and unsure.epistemic[0] == pytest.approx(0.0, abs=1e-15)


@settings(max_examples=30, deadline=None)
@given(classifiers, seeds)
def test_frames_are_the_decompositions_of_the_first_draws(net, seed):
    draws, x = net.prior_draws(40, seed), np.random.default_rng(seed).standard_normal((13, net.inputs))
    checkpoints = [1, 2, 4, 8, 39]
    frames = predictive.decompose(net, draws, x, checkpoints)
    assert frames.mean.shape == (5, 13, net.classes) and frames.total.shape == (5, 13)
    for index, count in enumerate(checkpoints):
        batch = predictive.decompose(net, draws[:count], x)
        for frame, whole in zip(frames, batch, strict=True):
            assert frame[index] == pytest.approx(whole, abs=1e-7)


def test_adding_in_pieces_is_adding_at_once():
    net = network(2, 3, 5)
    draws, x = net.prior_draws(100, 1), np.random.default_rng(1).standard_normal((200, 2))
    pieces = predictive.Ensemble(net, x)
    for draw in draws:
        pieces.add(draw[None])
    assert pieces.count == 100
    for one, other in zip(pieces.uncertainty(), predictive.decompose(net, draws, x), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("checkpoints", [[], [0, 1], [2, 2], [3, 1], [5, 11]])
def test_bad_checkpoints_are_named(checkpoints):
    net = network(2, 2)
    with pytest.raises(SpecError, match="checkpoints"):
        predictive.decompose(net, net.prior_draws(10, 1), [[0.0, 0.0]], checkpoints)


def test_bands_of_a_regression():
    net = network(1, 2, 5, likelihood="gaussian", noise_sd=0.3)
    draws, x = net.prior_draws(500, 1), np.linspace(-2, 2, 150)[:, None]
    values = predictive.outputs(net, draws, x)
    got = predictive.bands(net, draws, x)
    assert got.mean == pytest.approx(values.mean(axis=0), abs=1e-12)
    assert got.epistemic == pytest.approx(values.std(axis=0), abs=1e-12)
    assert np.all(got.aleatoric == 0.3)
    assert got.total**2 == pytest.approx(got.aleatoric**2 + got.epistemic**2)
    frames = predictive.bands(net, draws, x, [1, 250, 500])
    assert frames.mean.shape == (3, 150, 2)
    assert frames.epistemic[0] == pytest.approx(np.zeros((150, 2)))
    assert frames.epistemic[2] == pytest.approx(got.epistemic)


def test_a_small_spread_around_a_large_value_is_not_lost():
    net = network(1, 1, depth=0, likelihood="gaussian")
    draws = np.array([[0.0, 1e9 + 1.0], [0.0, 1e9 - 1.0]])
    assert predictive.bands(net, draws, [[0.0]]).epistemic[0, 0] == 1.0


def test_quantiles_with_and_without_noise():
    net = network(1, 1, depth=0, likelihood="gaussian", noise_sd=3.0)
    draws = np.column_stack([np.zeros(50_001), np.random.default_rng(1).standard_normal(50_001) * 4.0])
    levels = [0.025, 0.5, 0.975]
    curve = predictive.quantiles(net, draws, [[0.0]], levels)
    assert curve.shape == (3, 1, 1)
    assert curve[:, 0, 0] == pytest.approx(np.quantile(draws[:, 1], levels))
    # y ~ N(0, 4^2 + 3^2): the standard error of these quantiles is below 0.07
    new = predictive.quantiles(net, draws, [[0.0]], levels, noise_seed=2)
    assert new[:, 0, 0] == pytest.approx([-9.80, 0.0, 9.80], abs=0.28)
    assert np.array_equal(new, predictive.quantiles(net, draws, [[0.0]], levels, noise_seed=2))


@settings(max_examples=40, deadline=None)
@given(classifiers, seeds)
def test_scores_of_every_draw(net, seed):
    draws = net.prior_draws(7, seed)
    x, y = reference.samples(net, 2 * BLOCK + 5, seed)
    p = direct(net, draws, x)
    if net.temper > 0:
        assert predictive.accuracy(net, draws, x, y) == pytest.approx((p.argmax(axis=2) == y).mean(axis=1), abs=1e-12)
    wanted = [reference.log_likelihood(net, theta, x, y) for theta in draws]
    assert predictive.log_likelihood(net, draws, x, y) == pytest.approx(wanted, rel=1e-11, abs=1e-8)


def test_rmse_of_every_draw():
    net = network(3, 2, 5, likelihood="gaussian")
    draws = net.prior_draws(7, 1)
    x, y = reference.samples(net, 40, 1)
    wanted = [np.sqrt(np.mean((reference.outputs(net, theta, x) - y) ** 2)) for theta in draws]
    assert predictive.rmse(net, draws, x, y) == pytest.approx(wanted)


def test_extreme_draws_stay_numbers():
    for net in (network(2, 2, 4), network(2, 3, 4), network(2, 1, 4, likelihood="bernoulli")):
        u = predictive.decompose(net, np.clip(net.prior_draws(5, 1), -1, 1) * 1e100, np.eye(2))
        for part in u:
            assert np.all(np.isfinite(part))
        certain = predictive.probabilities(net, net.prior_draws(5, 1) * 1e6, np.eye(2))
        assert np.all((certain >= 0) & (certain <= 1))
        assert certain == pytest.approx(direct(net, net.prior_draws(5, 1) * 1e6, np.eye(2)), abs=1e-9)


def test_wrong_questions_are_refused():
    classes, values = network(2, 2), network(2, 1, likelihood="gaussian")
    draws, x = classes.prior_draws(3, 1), np.zeros((1, 2))
    with pytest.raises(SpecError, match="bands"):
        predictive.decompose(values, values.prior_draws(3, 1), x)
    with pytest.raises(SpecError, match="uncertainty"):
        predictive.bands(classes, draws, x)
    with pytest.raises(SpecError, match="rmse"):
        predictive.accuracy(values, values.prior_draws(3, 1), x, [0])
    with pytest.raises(SpecError):
        predictive.probabilities(values, values.prior_draws(3, 1), x)
    with pytest.raises(TargetError, match="draws have shape"):
        predictive.decompose(classes, draws[:, :-1], x)
    with pytest.raises(TargetError, match="no draws"):
        predictive.Ensemble(classes, x).uncertainty()
    with pytest.raises(TargetError, match="x has shape"):
        predictive.decompose(classes, draws, np.zeros((1, 3)))


def test_threads_do_not_disturb_each_other():
    """Each call has its own scratch: two threads get what one gets."""
    net = network(2, 2, 8)
    draws, x = net.prior_draws(2000, 1), np.random.default_rng(1).standard_normal((400, 2))
    alone = predictive.decompose(net, draws, x).mean
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: predictive.decompose(net, draws, x).mean})) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[i], alone) for i in range(2))
