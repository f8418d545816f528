"""Conjugate pairs: updates against quadrature, sequential against batch, evidence, predictions, bad input."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from engine.conjugate import (
    PAIRS,
    BetaBernoulli,
    DirichletCategorical,
    GammaExponential,
    GammaNormal,
    GammaPoisson,
    NormalGamma,
    NormalMean,
    integrate,
    posterior,
)
from engine.judge import gradient_check
from engine.spec import SpecError

PRIORS = {
    "bernoulli": BetaBernoulli(6.0, 2.0),
    "poisson": GammaPoisson(2.5, 0.7),
    "exponential": GammaExponential(1.5, 4.0),
    "precision": GammaNormal(2.0, 3.0, centre=-1.0),
    "mean": NormalMean(2.0, 0.4, 3.0),
    "both": NormalGamma(-2.0, 0.6, 2.5, 1.5),
    "categorical": DirichletCategorical((0.7, 3.0, 2.0)),
}


def some_data(pair: str, n: int, seed: int = 1) -> np.ndarray:
    prior, rng = PRIORS[pair], np.random.default_rng(seed)
    return prior.observe(rng, np.repeat(prior.draw(rng, 1), n, axis=0))


def numbers(belief) -> np.ndarray:
    return np.concatenate([np.atleast_1d(getattr(belief, field.name)) for field in dataclasses.fields(belief)])


@pytest.mark.parametrize("n", [0, 1, 7, 60])
@pytest.mark.parametrize("pair", PAIRS)
def test_posterior_and_evidence_agree_with_quadrature(pair, n):
    prior, x = PRIORS[pair], some_data(pair, n)
    found, after = integrate(prior, x), prior.update(x)
    assert found.log_evidence == pytest.approx(prior.log_evidence(x), abs=1e-8)
    assert found.mean() == pytest.approx(after.mean(), rel=1e-7, abs=1e-10)
    if np.all(np.isfinite(after.covariance())):
        assert found.covariance() == pytest.approx(after.covariance(), rel=1e-6, abs=1e-7)
    for i in range(after.dim):
        for share in (0.05, 0.5, 0.9):
            below = float(found.weight[found.theta[:, i] <= after.quantile(i, share)].sum())
            assert below == pytest.approx(share, abs=0.02 if after.dim == 1 else 0.05), "as fine as the nodes"


@pytest.mark.parametrize("pair", PAIRS)
def test_wrong_updates_are_seen_by_quadrature(pair):
    prior, x = PRIORS[pair], some_data(pair, 30)
    found = integrate(prior, x)
    twice = prior.update(x).update(x)
    spread = np.sqrt(np.diag(found.covariance()))
    gap = np.abs(np.sqrt(np.diag(twice.covariance())) / spread - 1.0)
    assert gap.max() > 0.05
    assert abs(prior.log_evidence(np.tile(x, 2)) - found.log_evidence) > 0.1


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_sequential_equals_batch_for_any_split(pair, data):
    n = data.draw(st.integers(0, 40))
    x = data.draw(st.permutations(list(some_data(pair, n, seed=n))))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=6)))
    belief, log_evidence = PRIORS[pair], 0.0
    for first, last in zip([0, *cuts], [*cuts, n], strict=True):
        log_evidence += belief.log_evidence(x[first:last])
        belief = belief.update(x[first:last])
    assert numbers(belief) == pytest.approx(numbers(PRIORS[pair].update(x)), rel=1e-10, abs=1e-10)
    assert log_evidence == pytest.approx(PRIORS[pair].log_evidence(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_prediction_is_the_evidence_of_one_more_and_adds_up(pair):
    belief = PRIORS[pair].update(some_data(pair, 5))
    places = np.unique(some_data(pair, 30, seed=3))
    assert belief.log_predictive(places) == pytest.approx([belief.log_evidence([x]) for x in places], abs=1e-10)
    if pair in ("bernoulli", "categorical", "poisson"):
        every = {"bernoulli": [0, 1], "categorical": [1, 2, 3], "poisson": np.arange(400)}[pair]
        assert np.exp(belief.log_predictive(every)).sum() == pytest.approx(1.0, abs=1e-9)


def test_densities_are_scipys():
    at = np.array([0.1, 0.4, 0.8])
    assert np.exp(BetaBernoulli(2, 3).log_density(at)) == pytest.approx(stats.beta(2, 3).pdf(at))
    assert GammaPoisson(2, 3).marginal(0, at) == pytest.approx(stats.gamma(2, scale=1 / 3).pdf(at)), "β is a rate"
    assert NormalMean(1, 2).marginal(0, at) == pytest.approx(stats.norm(1, 2).pdf(at))
    both = NormalGamma(1.0, 2.0, 3.0, 4.0)
    student = stats.t(6.0, 1.0, math.sqrt(4.0 / (2.0 * 3.0)))
    assert both.marginal(0, at) == pytest.approx(student.pdf(at))
    assert both.quantile(0, [0.1, 0.9]) == pytest.approx(student.ppf([0.1, 0.9]))
    three = DirichletCategorical((2.0, 3.0, 4.0))
    p = np.array([[0.2, 0.5]])
    assert np.exp(three.log_density(p)) == pytest.approx(stats.dirichlet([2, 3, 4]).pdf([0.2, 0.5, 0.3]))
    assert np.exp(GammaPoisson(2.5, 0.7).log_predictive([0, 3])) == pytest.approx(stats.nbinom(2.5, 0.7 / 1.7).pmf([0, 3]))
    assert np.exp(GammaExponential(1.5, 4.0).log_predictive(at)) == pytest.approx(stats.lomax(1.5, scale=4.0).pdf(at))


@pytest.mark.parametrize("pair", PAIRS)
def test_moments_modes_and_intervals(pair):
    belief = PRIORS[pair].update(some_data(pair, 400))  # all kinds seen, so that there is a mode
    draws = belief.draw(np.random.default_rng(2), 200_000)
    sd = np.sqrt(np.diag(belief.covariance()))
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean()) < 4.5 * sd / math.sqrt(len(draws)))
    for i in range(belief.dim):
        low, high = belief.interval(i, 0.9)
        assert np.mean((draws[:, i] > low) & (draws[:, i] < high)) == pytest.approx(0.9, abs=0.004)
    top, step = belief.mode(), 1e-3 * sd
    around = [top + step * np.array(move) for move in ([1] * belief.dim, [-1] * belief.dim)]
    assert np.all(belief.log_density(top) > belief.log_density(np.array(around)))


@pytest.mark.parametrize("pair", PAIRS)
def test_the_target_is_prior_times_likelihood(pair):
    prior, x = PRIORS[pair], some_data(pair, 20)
    target, after = posterior(prior, x), prior.update(x)
    points = after.draw(np.random.default_rng(1), 30)
    offset = target.log_density_many(points) - prior.log_density(points) - prior.log_likelihoods(points, x).sum(axis=1)
    assert np.ptp(offset) < 1e-8
    assert gradient_check(target, 0.5 * (points + after.mean())).verdict == "pass", "away from the border"
    if pair not in ("mean",):
        assert target.log_density(-np.ones(target.dim)) == -math.inf


WRONG_PRIORS = [
    (BetaBernoulli, {"alpha": 0.0}, "alpha"),
    (BetaBernoulli, {"beta": -1.0}, "beta"),
    (BetaBernoulli, {"alpha": math.nan}, "alpha"),
    (GammaPoisson, {"beta": 0.0}, "beta"),
    (GammaExponential, {"alpha": math.inf}, "alpha"),
    (GammaNormal, {"centre": math.nan}, "centre"),
    (GammaNormal, {"alpha": "2"}, "alpha"),
    (NormalMean, {"s": 0.0}, "s"),
    (NormalMean, {"sigma": -2.0}, "sigma"),
    (NormalMean, {"m": math.nan}, "m"),
    (NormalGamma, {"kappa": 0.0}, "kappa"),
    (NormalGamma, {"alpha": True}, "alpha"),
    (DirichletCategorical, {"a": (1.0, 0.0, 2.0)}, "a"),
    (DirichletCategorical, {"a": (1.0,)}, "a"),
]


@pytest.mark.parametrize(("pair", "settings", "name"), WRONG_PRIORS)
def test_a_prior_that_does_not_exist_is_named(pair, settings, name):
    with pytest.raises(SpecError) as caught:
        pair(**settings)
    assert caught.value.parameter == name


WRONG_DATA = [
    ("bernoulli", [0.0, 2.0], "observation 2, 2, is neither"),
    ("bernoulli", [math.nan], "observation 1 is not a finite number"),
    ("poisson", [3.0, -1.0], "observation 2, -1, is negative"),
    ("poisson", [0.5], "not a whole number"),
    ("poisson", [1e300], "beyond"),
    ("exponential", [1.0, -0.1], "negative"),
    ("mean", [[1.0, 2.0]], "one row"),
    ("mean", ["a"], "not a list of numbers"),
    ("both", [math.inf], "not a finite number"),
    ("categorical", [0.0], "no kind from 1 to 3"),
    ("categorical", [4.0], "no kind from 1 to 3"),
    ("categorical", [-1.0], "negative"),
    ("precision", np.zeros(10_000_001), "10,000,001 observations are more than"),
]


@pytest.mark.parametrize(("pair", "x", "words"), WRONG_DATA)
def test_data_that_cannot_be_are_named(pair, x, words):
    for call in (PRIORS[pair].update, PRIORS[pair].log_evidence):
        with pytest.raises(SpecError, match=words) as caught:
            call(x)
        assert caught.value.parameter == "data"


def test_no_data_change_nothing_and_huge_n_is_exact():
    for pair, prior in PRIORS.items():
        assert numbers(prior.update([])) == pytest.approx(numbers(prior)), pair
        assert prior.log_evidence([]) == 0.0
    after = BetaBernoulli(1.0, 1.0).update(np.ones(10_000_000))
    assert (after.alpha, after.beta) == (10_000_001.0, 1.0)
    assert BetaBernoulli(1.0, 1.0).log_evidence(np.ones(10_000_000)) == pytest.approx(-math.log(10_000_001), rel=1e-6)
    shifted = NormalMean(0.0, 1.0, 1.0).update(np.full(1000, 1e8) + np.tile([-1.0, 1.0], 500))
    assert shifted.m == pytest.approx(1e8 * 1000 / 1001, rel=1e-14)
