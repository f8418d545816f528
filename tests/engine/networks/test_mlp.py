"""The network posterior: against an independent implementation, against differences, against its symmetries, and at
its limits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engine.networks import Network, network
from engine.networks.passes import ACTIVATIONS, BLOCK
from engine.spec import SpecError
from engine.targets.target import TargetError, _evaluate
from tests.engine.networks import reference

OUTPUTS = {"softmax": (2, 3, 10), "bernoulli": (1,), "gaussian": (1, 2)}


@st.composite
def networks(draw, likelihoods=tuple(OUTPUTS)):
    likelihood = draw(st.sampled_from(likelihoods))
    return network(
        draw(st.integers(1, 7)),
        draw(st.sampled_from(OUTPUTS[likelihood])),
        width=draw(st.integers(1, 9)),
        depth=draw(st.integers(0, 3)),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        likelihood=likelihood,
        temper=1.0 if likelihood == "gaussian" else draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])),
        prior_sd=draw(st.sampled_from([0.3, 1.0, 5.0])),
        noise_sd=draw(st.sampled_from([0.5, 2.0])) if likelihood == "gaussian" else 1.0,
    )


sample_sizes = st.sampled_from([0, 1, 7, 8, 33, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
seeds = st.integers(0, 2**32 - 1)


def gradient_error(net: Network, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Largest difference between the gradient and central differences (of fourth order), over the size of the
    gradient.
    """
    posterior = net.posterior(x, y)
    gradient = posterior.log_density_and_gradient(theta)[1]
    h = 2e-4
    slopes = np.empty_like(theta)
    for i in range(len(theta)):
        values = []
        for step in (-2, -1, 1, 2):
            moved = theta.copy()
            moved[i] += step * h
            values.append(posterior.log_density(moved))
        slopes[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    return float(np.max(np.abs(gradient - slopes)) / max(1.0, np.max(np.abs(slopes))))


@settings(max_examples=150, deadline=None)
@given(networks(), sample_sizes, seeds)
def test_log_density_is_that_of_the_formula(net, n, seed):
    x, y = reference.samples(net, n, seed)
    theta = net.prior_draws(1, seed)[0]
    wanted = reference.log_posterior(net, theta, x, y)
    assert net.posterior(x, y).log_density(theta) == pytest.approx(wanted, rel=1e-11, abs=1e-8)
    assert net.log_likelihood(x, y).log_density(theta) == pytest.approx(reference.log_likelihood(net, theta, x, y), rel=1e-11, abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(networks(), sample_sizes, seeds)
def test_gradient_agrees_with_differences(net, n, seed):
    x, y = reference.samples(net, n, seed)
    theta = net.prior_draws(1, seed)[0]
    if net.activation in ("relu", "elu"):
        theta = away_from_kinks(net, theta, x)
    assert gradient_error(net, theta, x, y) < 1e-6


def away_from_kinks(net: Network, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Weights under which every ReLU or ELU unit is on or off for all samples, with |pre-activation| between 1 and 3:
    differences are wrong across a kink, and across a jump of the curvature less exact than they should be.
    """
    theta = theta.copy()
    largest = max(1.0, np.max(np.abs(x), initial=0.0))
    for weights, biases in net.unpack(theta)[: net.depth]:
        weights /= np.sum(np.abs(weights), axis=1, keepdims=True) * largest
        biases[:] = np.where(np.arange(len(biases)) % 2 == 0, 2.0, -2.0)
        largest = 3.0
    return theta


def test_every_activation_likelihood_and_depth_once():
    """The grid that hypothesis may not cover in one run."""
    for activation, likelihood, depth in itertools.product(ACTIVATIONS, OUTPUTS, range(4)):
        for outputs, inputs, width in itertools.product(OUTPUTS[likelihood], (1, 2, 3, 5), (1, 2, 4, 5)):
            net = network(inputs, outputs, width, depth, activation, likelihood)
            x, y = reference.samples(net, 11, depth)
            theta = net.prior_draws(1, inputs)[0]
            value, gradient = net.posterior(x, y).log_density_and_gradient(theta)
            assert value == pytest.approx(reference.log_posterior(net, theta, x, y), rel=1e-12), net
            direction = np.random.default_rng(width).standard_normal(net.dim) * 1e-6
            if activation != "relu":
                rise = reference.log_posterior(net, theta + direction, x, y) - reference.log_posterior(net, theta - direction, x, y)
                assert gradient @ direction * 2 == pytest.approx(rise, rel=1e-4, abs=1e-8), net


MUTANTS = {
    "no prior on the biases": lambda net, theta, x, y: (
        reference.log_likelihood(net, theta, x, y) + sum(reference.log_prior(net, weights.ravel()) for weights, _ in net.unpack(theta))
    ),
    "prior without its constant": lambda net, theta, x, y: (
        reference.log_likelihood(net, theta, x, y) - 0.5 * np.sum(theta**2) / net.prior_sd**2
    ),
    "temper forgotten": lambda net, theta, x, y: reference.log_posterior(dataclasses.replace(net, temper=1.0), theta, x, y),
    "last sample dropped": lambda net, theta, x, y: reference.log_posterior(net, theta, x[:-1], y[:-1]),
    "labels swapped": lambda net, theta, x, y: reference.log_posterior(net, theta, x, 1 - y),
    "transposed weights": lambda net, theta, x, y: reference.log_posterior(
        net, np.concatenate([np.concatenate([w.reshape(w.shape[1], w.shape[0]).T.ravel(), b]) for w, b in net.unpack(theta)]), x, y
    ),
}


@pytest.mark.parametrize("bug", MUTANTS)
def test_the_comparison_sees_a_wrong_formula(bug):
    net = network(2, 2, 4, temper=0.5, prior_sd=2.0)
    x, y = reference.samples(net, 200, 3)
    theta = net.prior_draws(1, 4)[0]
    got = net.posterior(x, y).log_density(theta)
    assert got == pytest.approx(reference.log_posterior(net, theta, x, y), rel=1e-12)
    assert got != pytest.approx(MUTANTS[bug](net, theta, x, y), rel=1e-6)


def test_the_difference_check_sees_a_wrong_gradient():
    """A posterior whose gradient misses the prior of one weight."""
    net = network(2, 2, 3)
    x, y = reference.samples(net, 20, 1)
    theta = net.prior_draws(1, 2)[0]
    assert gradient_error(net, theta, x, y) < 1e-7

    class Wrong(Network):
        def posterior(self, x, y):
            target = super().posterior(x, y)
            right = target.log_density_and_gradient

            def wrong(q):
                value, gradient = right(q)
                gradient[3] += q[3]
                return value, gradient

            object.__setattr__(target, "log_density_and_gradient", wrong)
            object.__setattr__(target, "log_density", lambda q: right(q)[0])
            return target

    assert gradient_error(Wrong(**dataclasses.asdict(net)), theta, x, y) > 1e-3


# Symmetries


@settings(max_examples=40, deadline=None)
@given(networks(), seeds)
def test_permuting_hidden_units_changes_nothing(net, seed):
    if net.depth == 0:
        return
    x, y = reference.samples(net, 50, seed)
    theta = net.prior_draws(1, seed)[0]
    order = np.random.default_rng(seed).permutation(net.width)
    swapped = theta.copy()
    (w1, b1), (w2, _) = net.unpack(swapped)[:2]
    w1[:], b1[:], w2[:] = w1[order].copy(), b1[order].copy(), w2[:, order].copy()
    posterior = net.posterior(x, y)
    assert posterior.log_density(swapped) == pytest.approx(posterior.log_density(theta), rel=1e-11, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(networks(), seeds)
def test_flipping_the_sign_of_a_tanh_unit_changes_nothing(net, seed):
    if net.depth == 0:
        return
    net = dataclasses.replace(net, activation="tanh")
    x, y = reference.samples(net, 50, seed)
    theta = net.prior_draws(1, seed)[0]
    flipped = theta.copy()
    (w1, b1), (w2, _) = net.unpack(flipped)[:2]
    w1[0] *= -1
    b1[0] *= -1
    w2[:, 0] *= -1
    posterior = net.posterior(x, y)
    assert posterior.log_density(flipped) == pytest.approx(posterior.log_density(theta), rel=1e-11, abs=1e-8)


def test_two_softmax_outputs_are_one_bernoulli_output_of_their_difference():
    two = network(2, 2, 4, temper=0.7)
    one = network(2, 1, 4, likelihood="bernoulli", temper=0.7)
    x, y = reference.samples(two, 60, 1)
    theta = two.prior_draws(1, 5)[0]
    (w1, b1), (w2, b2) = two.unpack(theta)
    merged = np.concatenate([w1.ravel(), b1, w2[1] - w2[0], [b2[1] - b2[0]]])
    assert two.log_likelihood(x, y).log_density(theta) == pytest.approx(one.log_likelihood(x, y).log_density(merged), rel=1e-12)


def test_temper_zero_and_no_samples_give_the_prior():
    net = network(2, 3, 4, temper=0.0)
    x, y = reference.samples(net, 60, 1)
    theta = net.prior_draws(1, 5)[0]
    prior = reference.log_prior(net, theta)
    assert net.posterior(x, y).log_density(theta) == pytest.approx(prior - 60 * math.log(3), rel=1e-12)
    value, gradient = net.posterior(np.empty((0, 2)), np.empty(0)).log_density_and_gradient(theta)
    assert value == pytest.approx(prior, rel=1e-13)
    assert gradient == pytest.approx(-theta)


# Layout


def test_unpack_reads_rows_of_outputs_then_biases():
    net = network(2, 3, width=4, depth=2)
    layers = net.unpack(np.arange(net.dim))
    assert [(w.shape, b.shape) for w, b in layers] == [((4, 2), (4,)), ((4, 4), (4,)), ((3, 4), (3,))]
    assert layers[0][0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert layers[0][1].tolist() == [8, 9, 10, 11]
    assert layers[2][1].tolist() == [net.dim - 3, net.dim - 2, net.dim - 1]
    assert net.labels[:9] == ("W1[1,1]", "W1[1,2]", "W1[2,1]", "W1[2,2]", "W1[3,1]", "W1[3,2]", "W1[4,1]", "W1[4,2]", "b1[1]")
    assert len(net.labels) == len(set(net.labels)) == net.dim
    stacked = net.unpack(np.zeros((5, 7, net.dim)))
    assert stacked[1][0].shape == (5, 7, 4, 4)
    with pytest.raises(TargetError, match=f"the network has {net.dim} parameters"):
        net.unpack(np.zeros(3))


def test_depth_zero_is_a_linear_model():
    net = network(3, 1, depth=0, likelihood="gaussian")
    assert net.sizes == (3, 1) and net.dim == 4
    assert net.labels == ("W1[1,1]", "W1[1,2]", "W1[1,3]", "b1[1]")


def test_prior_draws_repeat_and_have_the_prior_s_spread():
    net = network(2, 2, 4, prior_sd=3.0)
    draws = net.prior_draws(20_000, 1)
    assert draws.shape == (20_000, net.dim)
    assert np.array_equal(draws[:5], net.prior_draws(5, 1))
    assert not np.array_equal(draws[:5], net.prior_draws(5, 2))
    # 440,000 independent numbers: the standard error of the mean is 0.0045, of the standard deviation 0.0032
    assert abs(draws.mean()) < 4 * 0.0045
    assert abs(draws.std() - 3.0) < 4 * 0.0032


# Limits of floats


@settings(max_examples=80, deadline=None)
@given(networks(), st.sampled_from([1e2, 1e6, 1e60, 1e160, 1e308]), seeds)
def test_extreme_weights_give_a_number_or_minus_infinity(net, size, seed):
    x, y = reference.samples(net, 20, seed)
    theta = np.clip(net.prior_draws(1, seed)[0], -1, 1) * size
    value, gradient = net.posterior(x, y).log_density_and_gradient(theta)
    assert value < math.inf and not math.isnan(value)
    if size <= 1e6 and net.depth <= 2:
        assert math.isfinite(value) and np.all(np.isfinite(gradient))


@settings(max_examples=30, deadline=None)
@given(networks(), seeds)
def test_huge_inputs_give_a_number_or_minus_infinity(net, seed):
    x, y = reference.samples(net, 20, seed)
    for scale in (1e8, 1e300):
        value = net.posterior(x * scale, y).log_density(net.prior_draws(1, seed)[0])
        assert value < math.inf and not math.isnan(value)


def test_a_weight_that_is_not_a_number_is_impossible():
    net = network(2, 2, 3)
    x, y = reference.samples(net, 20, 1)
    for bad in (math.nan, math.inf, -math.inf):
        for i in range(net.dim):
            theta = net.prior_draws(1, 1)[0]
            theta[i] = bad
            assert net.posterior(x, y).log_density(theta) == -math.inf


def test_certain_and_wrong_costs_the_distance():
    """Where exp(z) overflows and 1 - p rounds to 1, the log likelihood is still -|z|."""
    net = network(1, 1, depth=0, likelihood="bernoulli")
    assert net.log_likelihood([[1e4]], [0]).log_density([1.0, 0.0]) == pytest.approx(-1e4)
    assert net.log_likelihood([[1e4]], [1]).log_density([1.0, 0.0]) == 0.0
    many = network(1, 200, depth=0)
    theta = np.zeros(many.dim)
    assert many.log_likelihood(np.zeros((300, 1)), np.zeros(300)).log_density(theta) == pytest.approx(-300 * math.log(200))


def test_relu_at_its_kink_has_slope_zero():
    net = network(1, 1, 1, activation="relu", likelihood="gaussian")
    posterior = net.posterior([[1.0]], [1.0])
    value, gradient = posterior.log_density_and_gradient([1.0, -1.0, 2.0, 0.0])  # pre-activation 1 * 1 - 1 = 0
    assert value == pytest.approx(reference.log_posterior(net, np.array([1.0, -1.0, 2.0, 0.0]), np.array([[1.0]]), np.array([1.0])))
    assert gradient[:2] == pytest.approx([-1.0, 1.0])  # the prior's part alone


def test_the_scratch_of_a_chain_may_start_anywhere_and_hold_anything():
    net = network(5, 3, 6, depth=2)
    x, y = reference.samples(net, 300, 1)
    posterior = net.posterior(x, y)
    theta = net.prior_draws(1, 1)[0]
    ints, scratch = posterior.buffers()
    wanted, gradients = set(), set()
    for shift in range(8):
        room = np.full(scratch.size + shift, math.nan)
        gradient = np.full(net.dim, math.nan)
        wanted.add(_evaluate(posterior.address, theta, gradient, posterior.data, ints, room[shift:]))
        gradients.add(gradient.tobytes())
    assert len(wanted) == 1 and len(gradients) == 1
    assert math.isfinite(wanted.pop())


def test_nothing_is_written_past_the_scratch():
    for net in (network(2, 2, 4), network(3, 10, 1, depth=0), network(4, 3, 5, depth=3), network(2, 1, 7, likelihood="bernoulli")):
        x, y = reference.samples(net, BLOCK + 3, 1)
        posterior = net.posterior(x, y)
        ints, scratch = posterior.buffers()
        room = np.full(scratch.size + 4096, 123.456)
        _evaluate(posterior.address, net.prior_draws(1, 1)[0], np.zeros(net.dim), posterior.data, ints, room[: scratch.size])
        assert np.all(room[scratch.size :] == 123.456)


# Messages


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"inputs": 0}, "inputs"),
        ({"outputs": 1}, "outputs"),
        ({"outputs": 2, "likelihood": "bernoulli"}, "outputs"),
        ({"outputs": 201}, "outputs"),
        ({"width": 0}, "width"),
        ({"width": (4, 2)}, "width"),
        ({"width": (1, 2, 3)}, "width"),
        ({"width": 2.5}, "width"),
        ({"width": True}, "width"),
        ({"depth": -1}, "depth"),
        ({"activation": "swish"}, "activation"),
        ({"likelihood": "poisson"}, "likelihood"),
        ({"temper": math.nan}, "temper"),
        ({"temper": -0.1}, "temper"),
        ({"prior_sd": 0.0}, "prior_sd"),
        ({"noise_sd": 2.0}, "noise_sd"),
        ({"likelihood": "gaussian", "temper": 0.5}, "temper"),
    ],
)
def test_a_bad_parameter_is_named(arguments, parameter):
    with pytest.raises(SpecError) as caught:
        network(**{"inputs": 2, "outputs": 2, **arguments})
    assert caught.value.parameter == parameter


def test_ranges_are_kept_for_jumps_and_refused_elsewhere():
    net = network(2, 2, width=(1, 16), depth=(1, 3))
    assert net.width == (1, 16) and net.depth == (1, 3)
    for use in (lambda: net.dim, lambda: net.posterior([[0, 0]], [0]), lambda: net.prior_draws(1, 1)):
        with pytest.raises(SpecError, match="width: is the range 1 to 16"):
            use()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[0.0, 1.0]], [2], "label 2 at sample 0"),
        ([[0.0, 1.0]], [-1], "label -1"),
        ([[0.0, 1.0]], [0.5], "label 0.5"),
        ([[0.0, 1.0]], [0, 1], r"y has shape \(2,\)"),
        ([[0.0, 1.0, 2.0]], [0], r"x has shape \(1, 3\)"),
        ([0.0, 1.0], [0], r"x has shape \(2,\)"),
        ([[0.0, math.nan]], [0], r"x is nan at \(0, 1\)"),
        ([[0.0, 1.0]], [math.inf], "y is inf"),
        ([["a", "b"]], [0], "x is not an array of numbers"),
    ],
)
def test_data_that_do_not_fit_are_named(x, y, message):
    with pytest.raises(TargetError, match=message):
        network(2, 2).posterior(x, y)


def test_a_network_is_a_value():
    net = network(2, 2, 4)
    assert pickle.loads(pickle.dumps(net)) == net
    assert len({net, network(2, 2, 4), network(2, 2, 5)}) == 2
    assert network(2, 2, np.int64(4)) == net


# The most probable parameters


def test_map_is_a_mode_and_repeats():
    net = network(2, 2, 4, temper=0.5)
    x, y = reference.samples(net, 60, 2)
    found = net.map_estimate(x, y, seed=1, starts=4)
    posterior = net.posterior(x, y)
    value, gradient = posterior.log_density_and_gradient(found.theta)
    assert value == pytest.approx(found.log_density) == pytest.approx(found.climbs.max())
    assert np.max(np.abs(gradient)) < 0.05
    assert np.all(found.log_density >= posterior.log_density_many(net.prior_draws(100, 9)))
    assert found.climbs.shape == (4,)
    began = [np.array_equal(found.path[0], start) for start in net.prior_draws(4, 1)]
    assert began.count(True) == 1 and began.index(True) == int(np.argmax(found.climbs))
    assert np.array_equal(found.path[-1], found.theta) and len(found.path) > 10
    assert np.all(np.diff(posterior.log_density_many(found.path)) > -1e-9), "L-BFGS takes no step down"
    assert np.array_equal(found.theta, net.map_estimate(x, y, seed=1, starts=4).theta)


def test_map_of_a_linear_gaussian_model_is_ridge_regression():
    net = network(3, 1, depth=0, likelihood="gaussian", prior_sd=2.0, noise_sd=0.5)
    x, y = reference.samples(net, 40, 2)
    design = np.hstack([x, np.ones((40, 1))])
    exact = np.linalg.solve(design.T @ design / 0.25 + np.eye(4) / 4.0, design.T @ y[:, 0] / 0.25)
    assert net.map_estimate(x, y, seed=1, starts=2).theta == pytest.approx(exact, abs=1e-4)


def test_the_constants_make_the_integral_the_evidence():
    """Linear model with normal prior and noise: the evidence is a normal density, and Laplace's formula is exact."""
    net = network(2, 1, depth=0, likelihood="gaussian", prior_sd=2.0, noise_sd=0.5)
    x, y = reference.samples(net, 10, 2)
    design = np.hstack([x, np.ones((10, 1))])
    evidence = stats.multivariate_normal.logpdf(y[:, 0], np.zeros(10), 4.0 * design @ design.T + 0.25 * np.eye(10))
    precision = design.T @ design / 0.25 + np.eye(3) / 4.0
    mode = np.linalg.solve(precision, design.T @ y[:, 0] / 0.25)
    laplace = net.posterior(x, y).log_density(mode) + 1.5 * math.log(2 * math.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    assert laplace == pytest.approx(evidence, rel=1e-10)
