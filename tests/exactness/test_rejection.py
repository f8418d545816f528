"""Rejection against importance sampling, against NUTS, and against itself made wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from datasets.six import six_points
from engine.diagnostics import ess_mean, summarise
from engine.networks.prior import CHUNK, Prior
from engine.rejection import MOST_KEPT, importance, reject, walk
from engine.spec import SpecError

AT = np.array([0.1, 0.5, 0.9])
PRIOR = Prior(width=4, weight_sd=1.0, bias_sd=1.0, out_sd=1.0, out_bias_sd=1.0, scaling="none")
DATA = six_points()
X, Y, SD = DATA.x[1:4:2], DATA.y[1:4:2], 0.3
THESIS = Prior(width=16, weight_sd=8.0, bias_sd=8.0, out_bias_sd=0.25, squash="tanh")


def apart(values, mean, error):
    """Standard errors between the mean of independent `values` (n, m) and another mean with its error."""
    return np.abs(values.mean(axis=0) - mean) / np.hypot(values.std(axis=0, ddof=1) / math.sqrt(len(values)), error)


def test_accepted_networks_are_the_posterior_by_importance_sampling():
    run = reject(PRIOR, X, Y, SD, 60_000, seed=1)
    other = importance(PRIOR, X, Y, SD, 200_000, seed=2, at=AT)
    values = PRIOR.values(run.weights, AT)
    assert len(values) > 1000 and other.effective > 5000
    assert apart(values, other.mean, other.mean_error).max() < 4
    assert apart(values**2, other.square, other.square_error).max() < 4


def test_accepted_networks_are_the_posterior_by_nuts():
    run = reject(PRIOR, X, Y, SD, 60_000, seed=3)
    network = engine.network(1, 1, 4, likelihood="gaussian", prior_sd=1.0, noise_sd=SD)
    recording = engine.sample(network.posterior(X[:, None], Y), "nuts", chains=4, draws=2500, warmup=500, seed=4)
    chains = np.stack([PRIOR.values(draws, AT) for draws in recording.draws])
    values = PRIOR.values(run.weights, AT)
    for power in (1, 2):
        moved = chains**power
        found = summarise(moved)
        assert found.rhat.max() < 1.01
        assert apart(values**power, found.mean, found.mcse_mean).max() < 4


def test_the_walk_is_the_same_posterior():
    other = importance(PRIOR, X, Y, SD, 200_000, seed=5, at=AT)
    run = walk(PRIOR, X, Y, SD, chains=4, steps=40_000, warmup=4000, seed=6)
    chains = np.stack([PRIOR.values(draws, AT) for draws in run.weights])
    found = summarise(chains)
    assert found.rhat.max() < 1.01 and found.ess_bulk.min() > 1000
    assert (np.abs(found.mean - other.mean) / np.hypot(found.mcse_mean, other.mean_error)).max() < 4
    squares = chains**2
    errors = [squares[:, :, i].std() / math.sqrt(ess_mean(squares[:, :, i])) for i in range(len(AT))]
    assert (np.abs(squares.mean(axis=(0, 1)) - other.square) / np.hypot(errors, other.square_error)).max() < 4
    assert 0.15 < run.accept_prob.mean() < 0.35 and run.evaluations == 4 * 44_000


def test_without_points_everything_is_the_prior():
    run = reject(PRIOR, [], [], SD, 5000, seed=1)
    assert run.accepted.all() and len(run.weights) == MOST_KEPT
    assert np.array_equal(run.weights[:50], PRIOR.draw(50, seed=1))
    chain = walk(PRIOR, [], [], SD, chains=2, steps=2000, warmup=200, thin=1, seed=2)
    assert (chain.accept_prob == 1).all() and (chain.step == 1).all()
    z = chain.weights.reshape(-1, PRIOR.dim) / PRIOR.sds()
    assert np.abs(z.mean(axis=0)).max() * math.sqrt(len(z)) < 4.5


def share_error(run):
    """The share accepted times the bound, and its standard error."""
    scale, share = math.exp(-run.log_scale), float(run.accepted.mean())
    return scale * share, scale * math.sqrt(share / run.tried)


@pytest.mark.parametrize("bound", ["exact", "observed"])
def test_the_share_accepted_is_the_evidence(bound):
    other = importance(PRIOR, X, Y, SD, 200_000, seed=7, at=AT)
    rate, error = share_error(reject(PRIOR, X, Y, SD, 60_000, seed=8, bound=bound))
    assert abs(rate - other.rate) / math.hypot(error, other.rate_error) < 4


def test_the_evidence_of_one_point_by_quadrature():
    # a linear network of one unit without biases is f = v w x: P(accept) = E exp(-(y - v w x)^2 / 2 sd^2) on a grid
    prior = Prior(width=1, activation="linear", weight_sd=1.0, bias_sd=0.0)
    z = np.linspace(-8, 8, 1601)
    normal = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    fit = np.exp(-((0.7 - np.outer(z, z) * 0.8) ** 2) / (2 * 0.2**2))
    true = float(normal @ fit @ normal)
    rate, error = share_error(reject(prior, [0.8], [0.7], 0.2, 100_000, seed=9))
    assert abs(rate - true) / error < 4
    other = importance(prior, [0.8], [0.7], 0.2, 100_000, seed=10, at=AT)
    assert abs(other.rate - true) / other.rate_error < 4


def test_forgetting_to_divide_is_seen():
    x, y, sd = DATA.x[1:4:2], DATA.y[1:4:2], 0.1
    run = reject(PRIOR, x, y, sd, 60_000, seed=11, bound="undivided")
    other = importance(PRIOR, x, y, sd, 400_000, seed=12, at=AT)
    rate, error = share_error(run)
    assert abs(rate - other.rate) / math.hypot(error, other.rate_error) > 8
    values = PRIOR.values(run.weights, x[1:])
    assert values.std() > 1.15 * importance(PRIOR, x, y, sd, 400_000, seed=12, at=x[1:]).sd[0]


def test_the_figure_of_the_thesis():
    # it reports 6 accepted of 100,000; by the largest likelihood seen, as there
    counts = [int(reject(THESIS, DATA.x, DATA.y, 0.1, 100_000, seed, bound="observed").accepted.sum()) for seed in range(6)]
    assert 2 <= np.median(counts) <= 14
    exact = importance(THESIS, DATA.x, DATA.y, 0.1, 400_000, seed=1, at=AT)
    assert 5e-6 < exact.rate < 5e-5


def test_squares_count_points_in_order_and_networks_are_kept():
    run = reject(PRIOR, X, Y, SD, CHUNK + 500, seed=13, show=[0, 7, CHUNK + 3])
    values = PRIOR.values(run.shown, X)
    assert run.squares[0].max() == 0
    squares = np.cumsum((Y - values) ** 2, axis=1)
    found = run.squares[1:, [0, 7, CHUNK + 3]].T
    assert found == pytest.approx(squares, rel=1e-9)
    assert np.array_equal(run.accepted, np.log(run.uniform) < run.log_ratio(SD))
    assert np.array_equal(run.index, np.flatnonzero(run.accepted)[:MOST_KEPT])
    kept = PRIOR.values(run.weights, X)
    assert ((Y - kept) ** 2).sum(axis=1) == pytest.approx(run.squares[-1][run.index], rel=1e-9)


def test_same_seed_same_bytes():
    one, two = (reject(PRIOR, X, Y, SD, 9000, seed=14) for _ in range(2))
    assert one.squares.tobytes() == two.squares.tobytes() and one.weights.tobytes() == two.weights.tobytes()
    first, second = (walk(PRIOR, X, Y, SD, chains=2, steps=500, warmup=50, seed=3) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert not np.array_equal(first.weights[0], first.weights[1])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("y", ([0.0], [], 0.1, 10, 0)),
        ("x", ([math.nan], [0.0], 0.1, 10, 0)),
        ("sd", ([0.0], [0.0], 0.0, 10, 0)),
        ("n", ([0.0], [0.0], 0.1, 0, 0)),
        ("seed", ([0.0], [0.0], 0.1, 10, -1)),
        ("bound", ([0.0], [0.0], 0.1, 10, 0, "magic")),
    ],
)
def test_a_wrong_argument_is_named(name, arguments):
    with pytest.raises(SpecError) as error:
        reject(PRIOR, *arguments)
    assert error.value.parameter == name
