"""Calibration of a user's own model: right ones pass, a wrong posterior and a wrong sampler fail, in seconds."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import engine

X = np.linspace(-1.0, 1.0, 12)


def line(q, grad, data, ints):  # type: ignore[no-untyped-def] # compiled
    """Three coefficients and the log of the noise's sd: normal priors, sd 1 (0.5 for the last); data are y at X."""
    value = 0.0
    for j in range(3):
        value -= 0.5 * q[j] * q[j]
        grad[j] = -q[j]
    value -= 2.0 * q[3] * q[3]
    grad[3] = -4.0 * q[3]
    precision = math.exp(-2.0 * q[3])
    for i in range(12):
        x = -1.0 + 2.0 * i / 11.0
        off = data[i] - q[0] - q[1] * x - q[2] * x * x
        value -= 0.5 * precision * off * off + q[3]
        grad[0] += precision * off
        grad[1] += precision * off * x
        grad[2] += precision * off * x * x
        grad[3] += precision * off * off - 1.0
    return value


def prior(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, 4)) * [1.0, 1.0, 1.0, 0.5]


def simulate(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return theta[0] + theta[1] * X + theta[2] * X**2 + np.exp(theta[3]) * rng.standard_normal(12)


@pytest.fixture(scope="module")
def target() -> engine.Target:
    return engine.target(line, 4, np.zeros(12))


def test_a_model_of_four_parameters_in_seconds(target: engine.Target) -> None:
    engine.calibrate("nuts", target, prior=prior, simulate=simulate, replications=4, seed=1)  # loads the kernel
    begin = time.process_time()
    found = engine.calibrate("nuts", target, prior=prior, simulate=simulate, replications=500, seed=2)
    assert time.process_time() - begin < 40.0  # CPU seconds of two cores: 20 s by the clock
    assert found.check.verdict == "pass", found.check.sentence
    assert found.ranks.shape == (500, 5) and found.ranks.max() <= found.draws
    assert np.mean(np.abs(found.ecdf[:, 0]) <= found.high + 1e-12) > 0.9


def test_a_prior_that_is_not_the_models_is_seen(target: engine.Target) -> None:
    wrong = engine.calibrate("nuts", target, prior=lambda n, rng: 2.0 * prior(n, rng), simulate=simulate, replications=300, seed=3)
    assert wrong.check.verdict == "fail"


def test_a_wrong_sampler_is_seen(target: engine.Target) -> None:
    settings = {"step_size": 0.35, "steps": 6, "variant": "always_accept"}
    wrong = engine.calibrate("hmc", target, prior=prior, simulate=simulate, replications=300, seed=4, **settings)
    assert wrong.check.verdict == "fail"


def test_chains_that_have_not_arrived_are_seen(target: engine.Target) -> None:
    crawling = engine.calibrate(
        "metropolis", target, prior=prior, simulate=simulate, replications=300, warmup=0, thin=1, scale=0.02, seed=5
    )
    assert crawling.check.verdict == "fail"


def test_a_network_brings_its_own_model() -> None:
    network = engine.network(1, 1, width=2, likelihood="gaussian", noise_sd=0.5)
    found = engine.calibrate("nuts", network, x=X[:6, None], replications=40, draws=15, thin=2, warmup=60, seed=6)
    assert found.ranks.shape == (40, network.dim + 1)


def test_what_is_missing_is_named(target: engine.Target) -> None:
    with pytest.raises(engine.SpecError, match="prior"):
        engine.calibrate("nuts", target)
    with pytest.raises(engine.SpecError, match="x"):
        engine.calibrate("nuts", engine.network(1, 1, likelihood="gaussian"))
