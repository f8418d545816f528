"""Bayesian linear regression: closed forms against the density of y, integration, refits and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_normal, multivariate_t, norm, t
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

from engine import linear
from engine.judge import mean_check
from engine.spec import SpecError

RNG = np.random.default_rng(4)
X = np.sort(RNG.random(20))
Y = np.cos(4.7 * X) + 0.2 * RNG.standard_normal(20)
DOFS = (math.inf, 3.0)
SETTINGS = [
    *({"noise_sd": 0.2, "prior_sd": 1.0, "dof": dof} for dof in DOFS),
    *({"noise_sd": 0.01, "prior_sd": 300.0, "dof": dof} for dof in DOFS),
]


def scale_matrix(design, noise_sd, prior_sd):
    return noise_sd**2 * np.eye(len(design)) + prior_sd**2 * design @ design.T


def reference(design, y, noise_sd, prior_sd, dof):
    K = scale_matrix(design, noise_sd, prior_sd)
    if math.isinf(dof):
        return multivariate_normal(np.zeros(len(y)), K, allow_singular=True).logpdf(y)
    return multivariate_t(np.zeros(len(y)), K, df=dof).logpdf(y)


@pytest.mark.parametrize("dof", DOFS)
@pytest.mark.parametrize("basis", linear.BASES)
@pytest.mark.parametrize(("n", "degree"), [(20, 1), (20, 4), (20, 15), (3, 6), (1, 2)])
def test_evidence_is_the_density_of_the_data(n, degree, basis, dof):
    design = linear.polynomial_design(X[:n], degree, basis)
    found = linear.solve(design, Y[:n], noise_sd=0.2, prior_sd=1.5, dof=dof)
    assert found.log_evidence == pytest.approx(reference(design, Y[:n], 0.2, 1.5, dof), abs=1e-8)
    if math.isinf(dof):
        precision = design.T @ design / 0.04 + np.eye(degree + 1) / 1.5**2
        assert found.root @ found.root.T == pytest.approx(np.linalg.inv(precision), abs=1e-9)
        assert found.mean == pytest.approx(np.linalg.solve(precision, design.T @ Y[:n] / 0.04), abs=1e-8)
        assert found.log_fit == pytest.approx(norm(design @ found.mean, 0.2).logpdf(Y[:n]).sum())


def test_evidence_is_prior_times_likelihood_integrated():
    design, y = linear.polynomial_design(X[:4], 1), Y[:4]
    a, b = np.meshgrid(np.linspace(-6.4, 6.4, 641), np.linspace(-6.4, 6.4, 641), indexing="ij")
    log_joint = norm(0, 0.8).logpdf(a) + norm(0, 0.8).logpdf(b)
    for row, value in zip(design, y, strict=True):
        log_joint += norm(row[0] * a + row[1] * b, 0.3).logpdf(value)
    found = linear.solve(design, y, noise_sd=0.3, prior_sd=0.8)
    assert math.exp(found.log_evidence) == pytest.approx(np.exp(log_joint).sum() * 0.02**2, rel=1e-8)


def test_evidence_with_unknown_noise_integrated():
    """The hierarchy as it is written: theta is scaled with the noise, the precision is Gamma."""
    design, y, dof, guess = linear.polynomial_design(X[:3], 1), Y[:3], 4.0, 0.5
    log_tau, z = np.linspace(-6.0, 8.0, 141), np.linspace(-9.6, 9.6, 97)  # z = theta / sigma
    a, b, log_tau = np.meshgrid(z, z, log_tau, indexing="ij")
    sigma = np.exp(-0.5 * log_tau)
    log_joint = gamma(dof / 2, scale=2 / (dof * guess**2)).logpdf(np.exp(log_tau)) + log_tau
    log_joint += norm(0, 0.8 / guess).logpdf(a) + norm(0, 0.8 / guess).logpdf(b)
    for row, value in zip(design, y, strict=True):
        log_joint += norm(sigma * (row[0] * a + row[1] * b), sigma).logpdf(value)
    value = np.exp(log_joint).sum() * 0.2**2 * 0.1
    found = linear.solve(design, y, noise_sd=guess, prior_sd=0.8, dof=dof)
    assert math.exp(found.log_evidence) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("basis", linear.BASES)
def test_one_by_one_is_all_at_once(basis, settings):
    sizes, order = (2, 5, 16), RNG.permutation(20)
    design = linear.polynomial_design(X, 15, basis)
    course = linear.arrive(design[order], Y[order], sizes, **settings)
    grid = linear.polynomial_design(np.linspace(0, 1, 9), 15, basis)
    for model, size in enumerate(sizes):
        whole = linear.solve(design[:, :size], Y, **settings)
        assert course.log_evidence[-1, model] == pytest.approx(whole.log_evidence, rel=1e-8)
        mean, spread = whole.curve(grid[:, :size])
        assert grid @ course.mean[-1, model] == pytest.approx(mean, rel=1e-5, abs=1e-5)
        found = np.sqrt(((grid @ course.root[-1, model]) ** 2).sum(axis=1))
        assert found == pytest.approx(spread, rel=1e-4)
        assert not course.mean[:, model, size:].any() and not course.root[:, model, size:].any()
        assert course.scale[-1, model] == pytest.approx(whole.scale, rel=1e-8) and course.dof[-1] == whole.dof


@pytest.mark.parametrize("dof", DOFS)
def test_scores_are_predictions_from_what_came_before(dof):
    design, settings = linear.polynomial_design(X, 3), {"noise_sd": 0.2, "prior_sd": 1.0, "dof": dof}
    course = linear.arrive(design, Y, (4,), **settings)
    for seen in (0, 1, 7):
        before = linear.solve(design[:seen], Y[:seen], **settings)
        centre, spread = before.curve(design[seen : seen + 1])
        total = math.hypot(spread[0], before.scale)
        law = norm(centre[0], total) if math.isinf(dof) else t(before.dof, centre[0], total)
        assert course.score[seen, 0] == pytest.approx(law.logpdf(Y[seen]))
        assert (course.expected[seen, 0], course.spread[seen, 0]) == pytest.approx((centre[0], total))


@pytest.mark.parametrize("settings", SETTINGS)
def test_leaving_one_out_is_a_ratio_of_evidences(settings):
    design = linear.polynomial_design(X, 4)
    scores = linear.left_out_scores(design, Y, **settings)
    whole = linear.solve(design, Y, **settings).log_evidence
    for i in (0, 5, 19):
        others = np.delete(np.arange(20), i)
        assert scores[i] == pytest.approx(whole - linear.solve(design[others], Y[others], **settings).log_evidence)


@pytest.mark.parametrize("k", [5, 10, 20])
def test_left_out_errors_are_those_of_refits(k):
    design = linear.polynomial_design(X, 4)
    folds = [test for _, test in KFold(k).split(X)]
    refitted = cross_val_predict(LinearRegression(fit_intercept=False), design, Y, cv=KFold(k))
    assert linear.left_out_errors(design, Y, folds) == pytest.approx(Y - refitted, rel=1e-8)


def test_left_out_errors_need_enough_data():
    design, whole = linear.polynomial_design(X, 15), [np.arange(20)]
    folds = np.array_split(np.arange(20), 4)
    assert np.isnan(linear.left_out_errors(design, Y, folds)).all(), "15 points do not determine 16 coefficients"
    assert np.isnan(linear.left_out_errors(design[:8], Y[:8], whole)).all()
    same = np.zeros(20)
    assert np.isnan(linear.left_out_errors(linear.polynomial_design(same, 1), Y, folds)).all()


@pytest.mark.parametrize("dof", DOFS)
def test_draws_have_the_posterior_moments(dof):
    found = linear.solve(linear.polynomial_design(X, 3), Y, noise_sd=0.2, prior_sd=1.0, dof=dof)
    draws = found.draw(np.random.Generator(np.random.SFC64(5)), 80_000).reshape(4, 20_000, 4)
    variance = np.diag(found.root @ found.root.T) * (1.0 if math.isinf(dof) else found.dof / (found.dof - 2.0))
    for j in range(4):
        assert mean_check("mean", "mean", draws[:, :, j], found.mean[j]).verdict == "pass"
        assert mean_check("sd", "sd", (draws[:, :, j] - found.mean[j]) ** 2, variance[j]).verdict == "pass"
        assert mean_check("sd", "sd", (draws[:, :, j] - found.mean[j]) ** 2, 1.06 * variance[j]).verdict == "fail"


def test_much_trust_in_a_guess_is_knowledge():
    design = linear.polynomial_design(X, 3)
    known = linear.solve(design, Y, noise_sd=0.2, prior_sd=1.0)
    trusted = linear.solve(design, Y, noise_sd=0.2, prior_sd=1.0, dof=1e9)
    assert trusted.log_evidence == pytest.approx(known.log_evidence, abs=1e-4)
    assert known.log_occam == known.log_evidence - known.log_fit < 0.0


def test_without_data_the_prior_is_left():
    empty = linear.solve(np.zeros((0, 3)), np.zeros(0), noise_sd=0.2, prior_sd=2.0)
    assert empty.log_evidence == 0.0 and not empty.mean.any()
    assert empty.root @ empty.root.T == pytest.approx(4.0 * np.eye(3))
    assert linear.arrive(np.zeros((0, 3)), np.zeros(0), (1, 3), noise_sd=0.2, prior_sd=2.0).score.shape == (0, 2)


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("noise_sd", {"noise_sd": 0.0}),
        ("noise_sd", {"noise_sd": math.nan}),
        ("prior_sd", {"prior_sd": -1.0}),
        ("prior_sd", {"prior_sd": math.inf}),
        ("dof", {"dof": 0.0}),
        ("dof", {"dof": math.nan}),
        ("y", {"y": np.array([0.0, math.nan])}),
        ("design", {"y": np.zeros(3)}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    settings = {"design": np.ones((2, 1)), "y": np.zeros(2), "noise_sd": 1.0, "prior_sd": 1.0, **changes}
    with pytest.raises(SpecError) as error:
        linear.solve(**settings)
    assert error.value.parameter == parameter
    with pytest.raises(SpecError, match="basis"):
        linear.polynomial_design([0.0], 2, "splines")
