"""Logistic regression: the grid against two other quadratures and a chain, Newton and Laplace against formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import minimize

import engine
from datasets.logistic import logistic_pairs
from engine import logistic
from engine.judge import mean_check
from engine.targets.quadrature import quadrature_truth

DATA = logistic_pairs(200, seed=1)
CASES = [(150, 1.0), (8, 5.0), (20, 0.3), (0, 1.0)]


def log_posterior(w, x, y, sd):
    """With all constants, w = (w0, w1)."""
    eta = w[0] + w[1] * x
    prior = -0.5 * (w[0] ** 2 + w[1] ** 2) / sd**2 - math.log(2 * math.pi * sd**2)
    return float(np.sum(y * eta - np.logaddexp(0, eta)) + prior)


@pytest.mark.parametrize(("n", "sd"), CASES)
def test_the_target_is_the_formula(n, sd):
    x, y = DATA.x[:n], DATA.y[:n]
    target = logistic.posterior(x, y, sd)
    for w in ((0.0, 0.0), (1.0, -2.0), (-3.0, 4.0)):
        assert target.log_density(w[::-1]) == pytest.approx(log_posterior(w, x, y, sd), rel=1e-12)


@pytest.mark.parametrize(("n", "sd"), CASES)
def test_the_grid_is_the_adaptive_quadrature(n, sd):
    x, y = DATA.x[:n], DATA.y[:n]
    grid = logistic.exact(x, y, sd)
    truth = quadrature_truth(logistic.posterior(x, y, sd)).truth
    assert grid.edge < logistic.EDGE
    assert grid.log_evidence == pytest.approx(truth.log_normaliser, abs=1e-7)
    assert grid.mean == pytest.approx(truth.mean[::-1], abs=1e-6)
    assert grid.covariance == pytest.approx(truth.covariance[::-1, ::-1], abs=1e-5)
    for which in range(2):
        nodes, density = grid.marginal(which)
        assert density == pytest.approx(truth.marginals[1 - which](nodes), abs=1e-5)


def test_the_evidence_is_the_double_integral_of_the_thesis():
    x, y = DATA.x[:20], DATA.y[:20]
    grid = logistic.exact(x, y, 1.0)
    found, _ = dblquad(lambda w1, w0: math.exp(log_posterior((w0, w1), x, y, 1.0)), -5, 5, -4, 6)
    assert math.log(found) == pytest.approx(grid.log_evidence, abs=1e-6)


def test_no_data_is_the_prior():
    grid = logistic.exact([], [], 2.0)
    assert grid.log_evidence == pytest.approx(0.0, abs=1e-7)
    assert grid.covariance == pytest.approx(4 * np.eye(2), abs=1e-6)
    assert grid.predictive(0.7)[0] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("sd", [0.5, 3.0, math.inf])
def test_newton_finds_the_maximum(sd):
    x, y = DATA.x[:60], DATA.y[:60]
    climb = logistic.newton(x, y, sd)

    def downhill(w):
        eta = w[0] + w[1] * x
        return float(np.sum(np.logaddexp(0, eta) - y * eta) + 0.5 * (w @ w) / sd**2)

    best = minimize(downhill, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    assert climb.converged and climb.path[-1] == pytest.approx(best.x, abs=1e-5)
    assert (np.diff(climb.value) >= -1e-12).all()
    end, h = climb.path[-1], 1e-4
    shift = np.array([[1, 0], [0, 1]]) * h
    second = [(downhill(end + s) - 2 * downhill(end) + downhill(end - s)) / h**2 for s in shift]
    assert -np.diag(climb.hessian) == pytest.approx(second, rel=1e-3)


def test_newton_halves_what_overshoots():
    x = np.array([-8.0, -8.0, 0.1, 0.1, 8.0, 8.0, 7.9])
    y = np.array([0, 0, 0, 1, 1, 1, 0])
    for points in (x, x - 7.0):
        assert (np.diff(logistic.newton(points, y).value) >= -1e-12).all()


def test_separated_classes_have_no_maximum():
    x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    climb = logistic.newton(x, y, most=12)
    assert not climb.converged and climb.path[-1, 1] > 10
    assert logistic.newton(x, y, 3.0).converged


def test_laplace_is_exact_for_the_prior_and_close_for_many_data():
    alone = logistic.laplace([], [], 2.0)
    assert alone.covariance == pytest.approx(4 * np.eye(2)) and alone.log_evidence == pytest.approx(0.0, abs=1e-12)
    x, y = DATA.x[:150], DATA.y[:150]
    near, grid = logistic.laplace(x, y, 1.0), logistic.exact(x, y, 1.0)
    assert near.log_evidence == pytest.approx(grid.log_evidence, abs=0.05)
    few = logistic.laplace(DATA.x[:8], DATA.y[:8], 5.0)
    assert abs(few.log_evidence - logistic.exact(DATA.x[:8], DATA.y[:8], 5.0).log_evidence) > 0.1


@pytest.mark.parametrize("x", [-0.5, 2.0, 0.0])
def test_the_predictive_of_the_grid(x):
    grid = logistic.exact(DATA.x[:20], DATA.y[:20], 1.0)
    bins = 200
    density = grid.probability_density(x, bins)
    middle = (np.arange(bins) + 0.5) / bins
    mean, sd = grid.predictive(x)
    assert density.sum() / bins == pytest.approx(1.0, abs=1e-6)
    assert density @ middle / bins == pytest.approx(mean[0], abs=1e-3)
    assert math.sqrt(density @ (middle - mean[0]) ** 2 / bins) == pytest.approx(sd[0], rel=0.02)
    near = logistic.laplace(DATA.x[:20], DATA.y[:20], 1.0)
    fine = np.linspace(0, 1, 20_001)[1:-1]
    assert near.probability_density(x, fine).sum() / 20_000 == pytest.approx(1.0, abs=1e-3)


def test_the_band_holds_what_it_says():
    x, y = DATA.x[:20], DATA.y[:20]
    grid = logistic.exact(x, y, 1.0)
    run = engine.sample(logistic.posterior(x, y, 1.0), "metropolis", chains=4, draws=40_000, warmup=500, seed=5, scale=1.0)
    for place in (-2.0, 0.3):
        low, high = grid.band(place)[:, 0]
        p = logistic.sigmoid(run.draws[:, :, 1] + run.draws[:, :, 0] * place)
        for edge, share in ((low, 0.05), (high, 0.95)):
            assert mean_check("band", "the share", (p < edge).astype(float), share).verdict == "pass"


def judged(grid, draws):
    """Verdicts of mean and variance of both weights."""
    found = []
    for j in range(2):
        found.append(mean_check("mean", "w", draws[:, :, j], grid.mean[j]).verdict)
        squares = (draws[:, :, j] - grid.mean[j]) ** 2
        found.append(mean_check("variance", "w", squares, grid.covariance[j, j]).verdict)
    return found


@pytest.mark.parametrize("variant", ["exact", "drop_rejections"])
def test_metropolis_agrees_with_the_grid_and_a_wrong_one_does_not(variant):
    x, y = DATA.x[:20], DATA.y[:20]
    grid = logistic.exact(x, y, 1.0)
    target = logistic.posterior(x, y, 1.0)
    settings = {"scale": 1.0, "variant": variant}
    run = engine.sample(target, "metropolis", chains=4, draws=20_000, warmup=500, seed=2, init=np.zeros(2), **settings)
    verdicts = judged(grid, run.draws[:, :, ::-1])
    assert (set(verdicts) == {"pass"}) if variant == "exact" else "fail" in verdicts
