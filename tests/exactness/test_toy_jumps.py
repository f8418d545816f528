"""Reversible jump on nested Gaussian models: do jumps visit every model as often as its closed-form probability says?
And is every forgotten factor caught?
"""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, multivariate_normal

from engine import judge
from engine.diagnostics import ess_mean
from engine.jumps import toy
from engine.jumps.toy import ToySpec

LADDERS = {
    "means": ToySpec(),
    "unequal moves": ToySpec(birth=0.3, model_prior="geometric", data_seed=4),
    "five means": ToySpec(models=5, truth=3, effect=0.8, observations=60),
    "polynomial": ToySpec(family="polynomial", models=4, truth=3),
    "steep polynomial": ToySpec(family="polynomial", models=6, truth=2, spread=0.4, birth=0.7, prior_sd=0.7),
}
LADDERS = {name: spec.replace(chains=4, draws=100_000, seed=8) for name, spec in LADDERS.items()}
WRONG = [variant for variant in toy.VARIANTS if variant != "exact"]


def model_z(recording, probability):
    """(K,) errors of the visits to each model, in Monte Carlo standard errors."""
    z = []
    for k, p in enumerate(probability, start=1):
        visits = (recording.model == k).astype(float)
        if p < 1e-3:  # too seldom seen for an error bar of its own
            continue
        z.append((visits.mean() - p) / np.sqrt(p * (1 - p) / ess_mean(visits)))
    assert len(z) >= 2
    return np.array(z)


@pytest.mark.parametrize("name", LADDERS)
def test_closed_form_is_the_evidence(name):
    """Against the density of y with the parameters integrated out, y ~ N(0, noise + prior X X')."""
    spec = LADDERS[name]
    data = toy.data_of(spec)
    for X, log_evidence in zip(data.designs, toy.exact(spec).log_evidence, strict=True):
        covariance = spec.noise_sd**2 * np.eye(len(data.y)) + spec.prior_sd**2 * X @ X.T
        assert log_evidence == pytest.approx(multivariate_normal.logpdf(data.y, cov=covariance), abs=1e-9)


@pytest.mark.parametrize("name", LADDERS)
def test_model_probabilities(name):
    z = model_z(toy.record(LADDERS[name]), toy.exact(LADDERS[name]).probability)
    assert np.all(np.abs(z) < 4), z


@pytest.mark.parametrize("name", LADDERS)
def test_parameters_within_each_model(name):
    recording, exact = toy.record(LADDERS[name]), toy.exact(LADDERS[name])
    for k in range(1, LADDERS[name].models + 1):
        theta = recording.theta[recording.model == k][:, :k]  # independent: drawn anew in each sweep
        if len(theta) < 1000:
            continue
        covariance = exact.covariance[k - 1, :k, :k]
        off = theta - exact.mean[k - 1, :k]
        z = off.mean(axis=0) / np.sqrt(np.diag(covariance) / len(theta))
        squares = (np.einsum("ni,ij,nj->n", off, np.linalg.inv(covariance), off).mean() - k) / np.sqrt(2 * k / len(theta))
        assert np.all(np.abs(z) < 4) and abs(squares) < 4


@pytest.mark.parametrize("name", ["means", "polynomial"])
@pytest.mark.parametrize("variant", WRONG)
def test_wrong_variants_miss_the_model_probabilities(name, variant):
    spec = LADDERS[name].replace(variant=variant)
    z = model_z(toy.record(spec), toy.exact(spec).probability)
    assert np.max(np.abs(z)) > judge.Z_LIMIT, z


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("variant", ["no_jacobian", "no_end_points"])
def test_where_the_wrong_variants_end_is_known(name, variant):
    spec = LADDERS[name].replace(variant=variant)
    z = model_z(toy.record(spec), toy.limit(spec))
    assert np.all(np.abs(z) < 4), z


@pytest.mark.parametrize("name", ["means", "polynomial"])
def test_prior_recovery(name):
    """No data: the models and every parameter must come back as the prior drew them."""
    spec = LADDERS[name].replace(likelihood="off", model_prior="geometric")
    assert np.allclose(toy.exact(spec).probability, 2.0 ** -np.arange(spec.models) / np.sum(2.0 ** -np.arange(spec.models)))
    recording = toy.record(spec)
    thin = recording.model[:, ::50]
    counts = np.bincount(thin.ravel(), minlength=spec.models + 1)[1:]
    expected = toy.exact(spec).probability * counts.sum()
    assert chi2.sf(np.sum((counts - expected) ** 2 / expected), spec.models - 1) > 1e-4
    values = recording.theta[:, ::50].ravel()
    assert kstest(values[np.isfinite(values)] / spec.prior_sd, "norm").pvalue > 1e-4


@pytest.mark.parametrize("variant", WRONG)
def test_wrong_variants_miss_the_prior(variant):
    spec = LADDERS["means"].replace(likelihood="off", variant=variant)
    assert np.max(np.abs(model_z(toy.record(spec), toy.exact(spec).probability))) > 10


def balance_z(recording, low):
    """Accepted births from model `low` against the deaths that undo them: as many, and of the same (theta, theta')."""
    jumps, accepted = recording.ledger, recording.accepted
    pairs = []
    for birth, smaller, larger in ((True, "before", "proposed"), (False, "proposed", "before")):
        took = accepted & (jumps.birth == birth) & (np.minimum(jumps.source, jumps.destination) == low)
        theta = np.hstack([getattr(jumps, smaller)[took][:, :low], getattr(jumps, larger)[took][:, : low + 1]])
        pairs.append(np.hstack([theta, theta**2, np.abs(jumps.u[took])[:, None]]))
    up, down = pairs
    difference = up.mean(axis=0) - down.mean(axis=0)
    return difference / np.sqrt(up.var(axis=0) / len(up) + down.var(axis=0) / len(down))


@pytest.mark.parametrize("name", ["means", "polynomial"])
@pytest.mark.parametrize("low", [1, 2])
def test_births_and_deaths_balance(name, low):
    recording = toy.record(LADDERS[name], detail="jumps")
    assert np.max(np.abs(balance_z(recording, low))) < 4


def test_a_forgotten_density_breaks_the_balance():
    spec = LADDERS["means"].replace(likelihood="off", variant="no_proposal")
    recording = toy.record(spec, detail="jumps")
    assert np.max(np.abs(balance_z(recording, 1))) > 10


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("variant", toy.VARIANTS)
def test_ledger_explains_every_verdict(name, variant):
    """Each factor recomputed from (theta, u) and theta' with plain formulas; their sum is the ratio to the last bit."""
    spec = LADDERS[name].replace(chains=1, draws=120, variant=variant)
    recording = toy.record(spec, detail="jumps")
    jumps, data = recording.ledger.at(0), toy.data_of(spec)
    births = np.array([1.0, *[spec.birth] * (spec.models - 2), 0.0])
    prior = np.exp(toy.models_of(spec).log_prior)

    def log_normal(x, sd):
        return -0.5 * np.sum((x / sd) ** 2) - x.size * np.log(sd * np.sqrt(2 * np.pi))

    for i in range(spec.draws):
        k, to = jumps.source[i], jumps.destination[i]
        old, new = jumps.before[i, :k], jumps.proposed[i, :to]
        low, sign = min(k, to), 1 if jumps.birth[i] else -1
        smaller, larger = (old, new) if jumps.birth[i] else (new, old)
        assert to - k == sign and np.all(np.isnan(jumps.before[i, k:])) and np.all(np.isnan(jumps.proposed[i, to:]))
        if spec.family == "means":
            u = (larger[1] - larger[0]) / (2 * spec.spread)
            np.testing.assert_allclose(smaller[0], larger[:2].mean(), atol=1e-12)
            np.testing.assert_allclose(smaller[1:], larger[2:], atol=1e-12)
            jacobian = 2 * spec.spread
        else:
            u = larger[-1] / spec.spread
            np.testing.assert_allclose(smaller, larger[:-1], atol=1e-12)
            jacobian = spec.spread
        np.testing.assert_allclose(jumps.u[i], u, atol=1e-12)
        expected = [
            log_normal(data.y - data.designs[to - 1] @ new, spec.noise_sd) - log_normal(data.y - data.designs[k - 1] @ old, spec.noise_sd),
            np.log(prior[to - 1] / prior[k - 1]),
            log_normal(new, spec.prior_sd) - log_normal(old, spec.prior_sd),
            -sign * log_normal(np.array([u]), 1.0),
            sign * np.log((1 - births[low]) / births[low - 1]),
            sign * np.log(jacobian),
        ]
        np.testing.assert_allclose(jumps.factors[i] + jumps.forgotten[i], expected, atol=1e-9)
        known = toy.counted(variant)[0 if sign == 1 else 1]
        assert np.all(jumps.factors[i][~known] == 0.0) and np.all(jumps.forgotten[i][known] == 0.0)
        total = 0.0
        for factor in jumps.factors[i]:
            total += factor
        assert jumps.log_ratio[i] == total and jumps.log_alpha[i] == min(0.0, total)
    assert np.array_equal(recording.accepted[0], jumps.uniform < np.exp(jumps.log_alpha))
    after = np.where(recording.accepted[0], jumps.destination, jumps.source)
    assert np.array_equal(recording.model[0], after) and np.array_equal(jumps.source[1:], after[:-1])
    np.testing.assert_array_equal(jumps.before[1:], recording.theta[0, :-1])


def test_the_jacobian_is_the_determinant_of_the_map():
    for spec in LADDERS.values():
        models = toy.models_of(spec)
        for k in range(1, spec.models):
            A = models.maps[k - 1, : k + 1, : k + 1]
            np.testing.assert_allclose(np.exp(models.log_jacobian[k - 1]), abs(np.linalg.det(A)), rtol=1e-12)
            np.testing.assert_allclose(A @ models.inverses[k - 1, : k + 1, : k + 1], np.eye(k + 1), atol=1e-12)
