"""Conjugate pairs held against sampling: long Metropolis runs on every posterior, simulation-based calibration."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.conjugate import PAIRS, BetaBernoulli, NormalGamma, posterior
from engine.judge import truth_check
from tests.engine.test_conjugate import PRIORS, some_data


def long_run(pair: str, truth=None):
    prior, x = PRIORS[pair], some_data(pair, 25, seed=5)
    after = prior.update(x)
    target = posterior(prior, x, truth=truth(prior, x) if truth else None)
    scale = 2.0 * float(np.sqrt(np.diag(after.covariance())).min())
    draws = engine.sample(
        target, "metropolis", chains=4, draws=40_000, warmup=2000, seed=3, init=np.tile(after.mean(), (4, 1)), scale=scale
    ).draws
    return truth_check(draws, target.truth, target.labels)


@pytest.mark.parametrize("pair", PAIRS)
def test_long_metropolis_runs_agree_with_the_formula(pair):
    check = long_run(pair)
    assert check.verdict == "pass", check.sentence


@pytest.mark.parametrize("pair", PAIRS)
def test_they_do_not_agree_with_data_used_twice(pair):
    assert long_run(pair, lambda prior, x: prior.update(x).update(x)).verdict == "fail"


# Simulation-based calibration (Talts et al. 2018): the rank of the true value among posterior draws is uniform.


def ranks(prior, replications: int, seed: int, *, twice: bool = False) -> np.ndarray:
    """(replications, dim) ranks of the unknowns among 19 draws of the posterior from 10 observations."""
    rng = np.random.default_rng(seed)
    theta = prior.draw(rng, replications)
    x = np.stack([prior.observe(rng, theta) for _ in range(10)], axis=1)
    found = np.empty(theta.shape, dtype=int)
    for r in range(replications):
        after = prior.update(x[r])
        after = after.update(x[r]) if twice else after
        found[r] = (after.draw(rng, 19) < theta[r]).sum(axis=0)
    return found


def chi_square(found: np.ndarray) -> float:
    """Chi-square of 20 ranks, 19 degrees of freedom, the worst unknown."""
    counts = np.stack([np.bincount(column, minlength=20) for column in found.T])
    expected = len(found) / 20
    return float((((counts - expected) ** 2) / expected).sum(axis=1).max())


LIMIT = 55.0  # of chi-square with 19 degrees of freedom: 2e-5
CALIBRATED = [BetaBernoulli(6.0, 6.0), NormalGamma(1.0, 0.5, 3.0, 2.0)]


@pytest.mark.parametrize("prior", CALIBRATED, ids=lambda prior: type(prior).__name__)
def test_calibration(prior):
    assert chi_square(ranks(prior, 8000, seed=1)) < LIMIT


@pytest.mark.parametrize("prior", CALIBRATED, ids=lambda prior: type(prior).__name__)
def test_calibration_catches_data_used_twice(prior):
    assert chi_square(ranks(prior, 8000, seed=1, twice=True)) > 2 * LIMIT
