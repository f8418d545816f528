"""Every family: gradient, normalisation, moments and marginals against independent integration, exact draws, views."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engine.targets import Target, TargetError, banana, dense_gaussian, funnel, gaussian, ring, student, two_modes
from engine.targets.quadrature import quadrature_truth
from tests.engine.targets.checks import assert_gradient, integral

PLANE = {
    "gaussian": gaussian(),
    "narrow gaussian": gaussian(correlation=-0.95, scale_ratio=20.0),
    "dense gaussian": dense_gaussian([1.0, -2.0], [[2.0, 0.6], [0.6, 0.5]]),
    "banana": banana(),
    "sharp banana": banana(width=3.0, curvature=2.0),
    "straight banana": banana(curvature=0.0),
    "left banana": banana(curvature=-0.7),
    "funnel": funnel(),
    "mild funnel": funnel(neck=0.5),
    "ring": ring(),
    "thin ring": ring(radius=5.0, thickness=0.05),
    "filled ring": ring(radius=0.3, thickness=1.0),
    "two modes": two_modes(),
    "distant modes": two_modes(separation=15.0, weight=0.05),
    "student": student(),
    "light student": student(dof=30.0),
}
HIGH = {
    "gaussian": gaussian(dimension=7, correlation=0.6, scale_ratio=5.0),
    "dense gaussian": dense_gaussian(np.arange(4.0), np.eye(4) + 0.5),
    "funnel": funnel(dimension=6, neck=1.5),
    "two modes": two_modes(dimension=5),
    "student": student(dimension=5, dof=4.0),
}
EVERY = [*(pytest.param(t, id=n) for n, t in PLANE.items()), *(pytest.param(t, id=f"{n} {t.dim}-D") for n, t in HIGH.items())]
IN_PLANE = [pytest.param(t, id=n) for n, t in PLANE.items()]


@pytest.mark.parametrize("target", EVERY)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_gradient_is_that_of_the_log_density(target: Target, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_gradient(target, rng.normal(size=target.dim) * rng.choice([0.3, 1.0, 2.0]))


@pytest.mark.parametrize("target", IN_PLANE)
def test_truth_agrees_with_a_quadrature_of_the_log_density(target: Target) -> None:
    """Moments and normaliser against nested adaptive quadrature, which knows nothing of the family."""
    found, truth = quadrature_truth(target), target.truth
    assert truth is not None and found.truth is not None, found.reason
    assert abs(found.truth.log_normaliser - truth.log_normaliser) < 1e-6
    sd = np.sqrt(np.diag(truth.covariance))
    assert np.all(np.abs(found.truth.mean - truth.mean) < 1e-6 * sd)
    assert np.all(np.abs(found.truth.covariance - truth.covariance) < 1e-6 * np.outer(sd, sd))


@pytest.mark.parametrize("target", [*IN_PLANE, *EVERY[len(PLANE) :]])
def test_marginals_integrate_to_one_and_carry_the_moments(target: Target) -> None:
    assert target.truth is not None
    for j in {0, 1, target.dim - 1}:
        mean, variance = target.truth.mean[j], target.truth.covariance[j, j]
        sd, marginal = math.sqrt(variance), target.truth.marginals[j]
        # the range where the integrand matters, in pieces, so that scipy finds narrow parts
        breaks = tuple(mean + sd * np.array([-30.0, -10.0, -3.0, -1.0, -0.3, -0.1, -0.01, 0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]))
        assert integral(marginal, -np.inf, np.inf, 0, breaks) == pytest.approx(1.0, rel=2e-6)
        assert integral(marginal, -np.inf, np.inf, 1, breaks) == pytest.approx(mean, abs=2e-6 * sd)
        if target.name != "student":  # its second moment converges too slowly for scipy's infinite range
            assert integral(marginal, -np.inf, np.inf, 2, breaks) == pytest.approx(variance + mean**2, rel=2e-6)


@pytest.mark.parametrize("target", IN_PLANE)
def test_marginal_is_the_integral_over_the_other_coordinate(target: Target) -> None:
    assert target.truth is not None
    rows = quadrature_truth(target).truth
    assert rows is not None
    for j, (low, high) in enumerate(target.view):
        x = np.linspace(low, high, 57)
        got = target.truth.marginals[j](x)
        # relative to itself, far into the tails: only values too small to draw are exempt
        x, got = x[got > 1e-9 * got.max()], got[got > 1e-9 * got.max()]
        assert np.all(np.abs(rows.marginals[j](x) / got - 1.0) < 1e-6)


@pytest.mark.parametrize("target", EVERY)
def test_exact_draws_follow_the_marginals(target: Target) -> None:
    """Kolmogorov-Smirnov against the marginals: a wrong density or a wrong draw fails (p < 1e-6 by chance)."""
    assert target.truth is not None
    if target.truth.draw is None:
        pytest.skip(f"{target.name} has no exact draws")
    draws = target.truth.draw(np.random.default_rng(7), 20_000)
    assert draws.shape == (20_000, target.dim)
    for j in {0, 1, target.dim - 1}:
        x = np.sort(draws[:, j])
        nodes = np.quantile(x, np.linspace(0.0, 1.0, 400))
        fine = np.concatenate([np.linspace(a, b, 40, endpoint=False) for a, b in pairwise(nodes)])
        density = target.truth.marginals[j](fine)
        mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(fine))])
        distance = np.max(np.abs(np.interp(x, fine, mass / mass[-1]) - (np.arange(x.size) + 0.5) / x.size))
        assert distance * math.sqrt(x.size) < 2.8


@pytest.mark.parametrize("target", IN_PLANE)
def test_view_shows_the_mass(target: Target) -> None:
    assert target.truth is not None
    for (low, high), marginal in zip(target.view, target.truth.marginals, strict=True):
        x = np.linspace(low, high, 4001)
        assert np.trapezoid(marginal(x), x) > 0.85  # the funnel's mouth is cut off on purpose
        assert marginal(x).max() * (high - low) < 200.0  # and nothing is a speck in the view


def test_gaussian_covariance_inverts_to_the_precision_of_the_kernel() -> None:
    target = gaussian(dimension=6, correlation=-0.7, scale_ratio=9.0)
    assert target.truth is not None
    precision = np.linalg.inv(target.truth.covariance)
    for q in np.random.default_rng(1).normal(size=(10, 6)):
        assert target.log_density_and_gradient(q)[1] == pytest.approx(-precision @ q, rel=1e-9, abs=1e-9)
    assert np.sqrt(target.truth.covariance[0, 0] / target.truth.covariance[-1, -1]) == pytest.approx(9.0)
    assert target.truth.covariance[0, 1] / math.sqrt(target.truth.covariance[0, 0] * target.truth.covariance[1, 1]) == pytest.approx(-0.7)


@pytest.mark.parametrize(
    ("target", "reference"),
    [
        (
            gaussian(dimension=5, correlation=0.6),
            stats.multivariate_normal(np.zeros(5), 0.6 ** np.abs(np.subtract.outer(range(5), range(5)))),
        ),
        (dense_gaussian([1.0, 2.0], [[2.0, 0.3], [0.3, 1.0]]), stats.multivariate_normal([1.0, 2.0], [[2.0, 0.3], [0.3, 1.0]])),
        (student(dimension=4, dof=2.5), stats.multivariate_t(np.zeros(4), np.eye(4), df=2.5)),
    ],
    ids=["gaussian", "dense gaussian", "student"],
)
def test_log_density_equals_scipy(target: Target, reference: object) -> None:
    q = np.random.default_rng(2).normal(size=(20, target.dim)) * 2.0
    assert target.log_density_many(q) == pytest.approx(reference.logpdf(q), rel=1e-12)  # type: ignore[attr-defined]


def test_higher_dimensions_are_normalised() -> None:
    """Importance sampling from a heavy-tailed proposal: the mean weight is 1."""
    rng = np.random.default_rng(3)
    for target, proposal in (
        (two_modes(dimension=3, separation=3.0), stats.multivariate_t([-0.6, 0, 0], np.diag([4.0, 1.5, 1.5]), df=5, seed=rng)),
        (funnel(dimension=3, neck=0.6), stats.multivariate_t(np.zeros(3), np.diag([0.6, 1.5, 1.5]), df=5, seed=rng)),
    ):
        q = proposal.rvs(200_000)
        weights = np.exp(target.log_density_many(q) - proposal.logpdf(q))
        assert abs(weights.mean() - 1.0) < 4.0 * weights.std() / math.sqrt(len(q))


def test_student_states_the_moments_that_do_not_exist() -> None:
    assert student(dof=3.0).truth.covariance[0, 0] == pytest.approx(3.0)  # type: ignore[union-attr]
    some, none = student(dof=1.5).truth, student(dof=1.0).truth
    assert some is not None and none is not None
    assert np.all(some.mean == 0.0) and np.all(np.isinf(np.diag(some.covariance))) and np.isnan(some.covariance[0, 1])
    assert np.all(np.isnan(none.mean)) and np.all(np.isnan(none.covariance))


def test_centre_of_the_ring_has_gradient_zero() -> None:
    value, gradient = ring().log_density_and_gradient([0.0, 0.0])
    assert np.isfinite(value) and np.all(gradient == 0.0)


def test_far_away_is_impossible_rather_than_an_error() -> None:
    for target in PLANE.values():
        for q in ([1e200, -1e200], [-2000.0, 3.0], [np.nan, 0.0]):
            assert not target.log_density(q) > 0.0


@pytest.mark.parametrize(
    "build",
    [
        lambda: gaussian(correlation=1.0),
        lambda: gaussian(dimension=0),
        lambda: gaussian(scale_ratio=0.0),
        lambda: dense_gaussian([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]),
        lambda: dense_gaussian([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]]),
        lambda: dense_gaussian([0.0], [[1.0, 0.0], [0.0, 1.0]]),
        lambda: banana(width=0.0),
        lambda: banana(curvature=math.nan),
        lambda: funnel(dimension=1),
        lambda: funnel(neck=-1.0),
        lambda: ring(thickness=0.0),
        lambda: two_modes(weight=1.0),
        lambda: student(dof=0.0),
    ],
)
def test_impossible_parameters_are_refused(build: object) -> None:
    with pytest.raises(TargetError):
        build()  # type: ignore[operator]
