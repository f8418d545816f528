"""Monte Carlo: integrals against quadrature, draws against their truth, standard errors, tails, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from engine.montecarlo import ball, cauchy, midpoint, power, rare, replicate, square
from engine.spec import SpecError

INTEGRALS = {
    "disc": ball(2),
    "ball": ball(5),
    "power": power(0.3),
    "weighted power": power(0.7, 0.6),
    "rare": rare(1.5),
    "shifted": rare(3.0, 3.0),
    "own": square(1.0),
    "wide": square(2.0),
    "narrow": square(0.95),
}
DENSITY = {
    "power": (lambda x: 1.0, 0.0, 1.0),
    "weighted power": (lambda x: 0.4 * x**-0.6, 0.0, 1.0),
    "rare": (stats.norm().pdf, 1.5, 12.0),
    "shifted": (stats.norm(3.0).pdf, 3.0, 15.0),
    "own": (stats.norm().pdf, -30.0, 30.0),
    "wide": (stats.norm(0.0, 2.0).pdf, -30.0, 30.0),
    "narrow": (stats.norm(0.0, 0.95).pdf, -30.0, 30.0),
}


@pytest.mark.parametrize("name", DENSITY)
def test_mean_and_variance_agree_with_quadrature(name):
    integral, (density, low, high) = INTEGRALS[name], DENSITY[name]

    def value(x: float) -> float:
        return float(integral.value(np.array([[x]]))[0])

    mean, _ = integrate.quad(lambda x: value(x) * density(x), low, high, limit=400)
    second, _ = integrate.quad(lambda x: value(x) ** 2 * density(x), low, high, limit=400)
    assert integral.mean == pytest.approx(mean, rel=1e-6)
    assert integral.variance == pytest.approx(second - mean**2, rel=1e-5)


@pytest.mark.parametrize("name", INTEGRALS)
def test_averages_are_right_and_a_forgotten_weight_is_seen(name):
    integral = INTEGRALS[name]
    values = replicate(integral, replications=100, draws=4000, seed=1).values
    error = math.sqrt(integral.variance / values.size)
    assert abs(values.mean() - integral.mean) < 4 * error
    if integral.weighted:
        wrong = replicate(integral, replications=100, draws=4000, seed=1, weighted=False).values
        assert abs(wrong.mean() - integral.mean) > 10 * error
        if math.isfinite(integral.unweighted_mean):
            assert wrong.mean() == pytest.approx(integral.unweighted_mean, rel=0.05)


@pytest.mark.parametrize("name", ["disc", "own", "shifted"])
def test_the_error_is_sigma_over_root_n_and_the_band_holds(name):
    integral = INTEGRALS[name]
    runs = replicate(integral, replications=4000, draws=400, seed=2)
    for n in (100, 400):
        rms = math.sqrt(float(((runs.means[:, n - 1] - integral.mean) ** 2).mean()))
        assert rms * math.sqrt(n / integral.variance) == pytest.approx(1.0, abs=0.06)
    errors = runs.standard_errors()
    assert errors[:, -1] == pytest.approx(runs.values.std(axis=1, ddof=1) / 20.0)
    held = np.mean(np.abs(runs.means[:, -1] - integral.mean) < 1.96 * errors[:, -1])
    assert 0.93 < held < 0.965


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.0), (0.7, 0.0), (0.9, 0.8), (0.7, 0.4)])
def test_the_variance_becomes_infinite_where_it_should(a, b):
    assert math.isinf(power(a, b).variance) and power(a, b).tail < 2.0 + 1e-9
    assert math.isfinite(power(a - 0.01, b + 0.0).variance) == (2 * (a - 0.01) - b < 1.0)
    assert math.isinf(square(0.7).variance) and math.isfinite(square(0.72).variance)


def test_the_error_falls_slower_with_infinite_variance():
    integral = power(0.8)
    runs = replicate(integral, replications=1000, draws=10_000, seed=3)
    median = np.median(np.abs(runs.means - integral.mean), axis=0)
    slope = math.log(median[99] / median[9999]) / math.log(100.0)
    assert slope == pytest.approx(integral.rate, abs=0.06) and integral.rate == pytest.approx(0.2)


def test_the_mean_of_cauchy_draws_is_cauchy():
    means = replicate(cauchy(), replications=4000, draws=200, seed=4).means
    for n in (1, 200):
        assert stats.kstest(means[:, n - 1], stats.cauchy.cdf).pvalue > 1e-4


def test_no_variance_where_the_proposal_is_the_integrand():
    values = replicate(power(0.7, 0.7), replications=3, draws=50, seed=5).values
    assert values == pytest.approx(np.full(values.shape, power(0.7).mean), rel=1e-12)
    assert power(0.7, 0.7).variance < 1e-12


def test_a_replication_does_not_depend_on_how_many_there_are():
    few, many = (replicate(ball(3), replications=k, draws=20, seed=6) for k in (2, 5))
    assert np.array_equal(few.values, many.values[:2]) and np.array_equal(few.points, many.points)


def test_the_grid_rule():
    assert midpoint(ball(2), 90_000)[0] == pytest.approx(math.pi, abs=0.005)
    assert midpoint(ball(3), 64_000)[0] == pytest.approx(4 * math.pi / 3, abs=0.05)
    assert midpoint(ball(10), 10_000)[1] == 2**10


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ball(0), "dimension"),
        (lambda: ball(2.0), "dimension"),
        (lambda: power(1.0), "a"),
        (lambda: power(0.5, math.nan), "b"),
        (lambda: rare(-1.0), "threshold"),
        (lambda: rare(1.0, math.inf), "shift"),
        (lambda: square(0.0), "scale"),
        (lambda: replicate(ball(2), replications=0, draws=5, seed=1), "replications"),
        (lambda: replicate(ball(2), replications=1, draws=0, seed=1), "draws"),
        (lambda: replicate(ball(2), replications=100_000, draws=10_000, seed=1), "draws"),
    ],
)
def test_a_bad_parameter_is_named(call, name):
    with pytest.raises(SpecError) as caught:
        call()
    assert caught.value.parameter == name
