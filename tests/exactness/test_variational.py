"""Is every gradient the ELBO's, every ELBO below the evidence, every divergence the integral it says? Wrong variants
must be caught.
"""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import engine
from engine import targets
from engine.conjugate.beliefs import NormalGamma
from engine.diagnostics import ess_mean
from engine.spike_and_slab import ascend_selection, enumerate_models, sample_models, spike_and_slab
from engine.spike_and_slab.gibbs import polya_gamma
from engine.variational import (
    Advi,
    Decaying,
    NormalMixture,
    advi,
    ascend_gaussian,
    ascend_normal_gamma,
    descend,
    elbo,
    gaussian_kl,
    gradients,
    kl_from_p,
    kl_from_q,
    linear_regression,
    logistic_regression,
    pack,
)


def generator(seed):
    return np.random.Generator(np.random.SFC64(seed))


# Divergences ----------------------------------------------------------------------------------------------------------


def random_gaussian(rng, dim):
    root = np.tril(rng.standard_normal((dim, dim)), -1) + np.diag(rng.uniform(0.3, 2.0, dim))
    return rng.standard_normal(dim), root @ root.T


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_gaussian_divergence_is_the_mean_log_ratio(dim):
    rng = generator(dim)
    (m, s), (n, t) = random_gaussian(rng, dim), random_gaussian(rng, dim)
    draws = rng.multivariate_normal(m, s, 200_000)
    ratio = np.atleast_1d(multivariate_normal.logpdf(draws, m, s) - multivariate_normal.logpdf(draws, n, t))
    z = (ratio.mean() - gaussian_kl(m, s, n, t)) / (ratio.std() / np.sqrt(len(ratio)))
    assert abs(z) < 4
    assert gaussian_kl(m, s, m, s) == pytest.approx(0.0, abs=1e-10)


def test_divergences_are_never_negative():
    rng = generator(3)
    for _ in range(200):
        (m, s), (n, t) = random_gaussian(rng, 3), random_gaussian(rng, 3)
        assert gaussian_kl(m, s, n, t) >= 0.0
    mixture = NormalMixture.of([0.6, 0.4], [-1.5, 2.0], [0.7, 1.1])
    mean, sd = np.meshgrid(np.linspace(-4, 4, 9), np.geomspace(0.2, 5.0, 7))
    assert kl_from_q(mean, sd, mixture).min() > 0.0
    assert kl_from_p(mean, sd, mixture).min() > 0.0


def test_divergences_of_a_mixture_against_plain_integrals():
    mixture = NormalMixture.of([0.7, 0.3], [-2.0, 2.5], [0.6, 0.9])
    x, step = np.linspace(-30.0, 30.0, 200_001, retstep=True)
    log_p, log_q = mixture.log_density(x), norm.logpdf(x, 0.4, 1.7)
    assert kl_from_q(0.4, 1.7, mixture) == pytest.approx(float(np.exp(log_q) @ (log_q - log_p)) * step, abs=1e-8)
    assert kl_from_p(0.4, 1.7, mixture) == pytest.approx(float(np.exp(log_p) @ (log_p - log_q)) * step, abs=1e-8)
    one = NormalMixture.of([1.0], [1.0], [2.0])
    assert kl_from_q(0.4, 1.7, one) == pytest.approx(gaussian_kl([0.4], [[1.7**2]], [1.0], [[4.0]]), abs=1e-10)
    assert kl_from_p(0.4, 1.7, one) == pytest.approx(gaussian_kl([1.0], [[4.0]], [0.4], [[1.7**2]]), abs=1e-10)


def test_the_two_directions_want_different_things():
    """From q the divergence sends N into one mode; from p it wants the mean and the variance of p."""
    mixture = NormalMixture.of([0.7, 0.3], [-3.0, 3.0], [0.8, 0.8])
    for start, mode, share in ((-1.0, -3.0, 0.7), (1.0, 3.0, 0.3)):
        found = descend(start, 1.0, mixture)
        assert np.all(np.diff(found.kl) <= 0.0)
        assert found.path[-1] == pytest.approx((mode, 0.8), abs=3e-3)
        assert found.kl[-1] == pytest.approx(-np.log(share), abs=2e-3)
    mean, sd = mixture.moments()
    best = kl_from_p(mean, sd, mixture)
    found = descend(2.0, 0.5, mixture, divergence="from_p")
    assert np.all(np.diff(found.kl) <= 0.0)
    assert found.path[-1] == pytest.approx((mean, sd), abs=1e-4) and found.kl[-1] == pytest.approx(best, abs=1e-8)
    for change in (0.05, -0.05):
        assert kl_from_p(mean + change, sd, mixture) > best < kl_from_p(mean, sd * np.exp(change), mixture)


# Gradients ------------------------------------------------------------------------------------------------------------


def data(n=30, dim=2, seed=7):
    rng = generator(seed)
    x = np.column_stack([np.ones(n), rng.standard_normal((n, dim - 1))])
    y = x @ np.linspace(0.5, -1.0, dim) + 0.7 * rng.standard_normal(n)
    return x, y


def cases():
    x, y = data()
    gamma = targets.normal_gamma(mean=0.5, kappa=4.0, shape=6.0, rate=5.0)
    return {
        "gaussian": (targets.dense_gaussian([1.0, -0.5], [[1.0, 0.6], [0.6, 0.8]]), None),
        "logistic": (logistic_regression(x, (y > 0).astype(float), prior_sd=2.0), None),
        "positive": (gamma, ("real", "positive")),
        "interval": (gamma, ("real", (0.0, 30.0))),
    }


CASES = cases()
HOW = {
    "reparameterised": {},
    "score": {"estimator": "score", "samples": 2},
    "score, control variate": {"estimator": "score", "samples": 3, "control_variate": True},
}


def place(family):
    root = np.array([[0.5, 0.0], [0.2 if family == "full_rank" else 0.0, 0.35]])
    return pack(np.array([0.3, 0.2]), root, family)


def slope(target, parameters, supports):
    """The exact gradient: central differences of the ELBO by quadrature."""
    h = 1e-4
    steps = h * np.eye(parameters.size)
    high, low = (elbo(target, parameters + sign * steps, supports=supports, nodes=60).value for sign in (1, -1))
    return (high - low) / (2 * h)


def worst_z(found, true):
    return np.abs((found.mean(axis=0) - true) / (found.std(axis=0) / np.sqrt(len(found)))).max()


@pytest.mark.parametrize("family", ["mean_field", "full_rank"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_unbiased(case, how, family):
    target, supports = CASES[case]
    at = place(family)
    found = gradients(target, Advi(family=family, supports=supports, **HOW[how]), at, repeats=200_000, seed=5)
    assert worst_z(found, slope(target, at, supports)) < 4


@pytest.mark.parametrize(
    "variant,case,how",
    [
        ("no_jacobian", "positive", "reparameterised"),
        ("no_jacobian", "positive", "score, control variate"),
        ("entropy_sign", "gaussian", "reparameterised"),
        ("entropy_sign", "gaussian", "score, control variate"),
    ],
)
def test_wrong_gradients_are_caught(variant, case, how):
    target, supports = CASES[case]
    at = place("full_rank")
    settings = Advi(family="full_rank", supports=supports, variant=variant, **HOW[how])
    assert worst_z(gradients(target, settings, at, repeats=50_000, seed=5), slope(target, at, supports)) > 10


def test_a_control_variate_and_a_path_through_the_point_make_less_noise():
    """In 20 dimensions, at equal samples: score > with control variate > reparameterised, by far."""
    target = targets.gaussian(dimension=20, correlation=0.3)
    at = pack(np.full(20, 0.3), np.diag(np.full(20, 0.7)), "mean_field")
    noise = [
        gradients(target, Advi(samples=4, **settings), at, repeats=4000).var(axis=0)[:20].mean()
        for settings in ({"estimator": "score"}, {"estimator": "score", "control_variate": True}, {"estimator": "reparameterised"})
    ]
    assert noise[0] > 1.5 * noise[1] > 10 * noise[2]


@pytest.mark.parametrize("how", HOW)
def test_minibatches_are_unbiased(how):
    x, y = data(n=12)
    target = linear_regression(x, y, noise_sd=0.7)
    at = place("mean_field")
    true = slope(target, at, None)
    for batch, repeats in ((1, 200_000), (5, 100_000), (12, 50_000)):
        found = gradients(target, Advi(batch=batch, **HOW[how]), at, repeats=repeats, seed=batch)
        assert worst_z(found, true) < 4, batch


def test_a_forgotten_scaling_is_caught():
    x, y = data(n=12)
    target = linear_regression(x, y, noise_sd=0.7)
    at = place("mean_field")
    found = gradients(target, Advi(batch=5, variant="no_scaling"), at, repeats=20_000)
    assert worst_z(found, slope(target, at, None)) > 10


# Fits -----------------------------------------------------------------------------------------------------------------

TARGET = targets.dense_gaussian([1.0, -2.0, 0.5], [[1.0, 0.7, 0.3], [0.7, 1.5, -0.2], [0.3, -0.2, 0.8]])


def test_full_rank_recovers_a_gaussian():
    fit = advi(TARGET, family="full_rank", steps=20_000, samples=10, optimiser=Decaying(step_size=1.0), seed=2)
    q = fit.averaged()
    assert q.mean == pytest.approx(TARGET.truth.mean, abs=0.01)
    assert q.covariance == pytest.approx(TARGET.truth.covariance, abs=0.02)
    assert elbo(TARGET, pack(q.mean, q.root, "full_rank")).value[0] == pytest.approx(0.0, abs=1e-3)


def test_mean_field_finds_the_mean_and_sds_that_are_too_small():
    """Its variances are 1 over the diagonal of the precision matrix, its gap half the log of a determinant."""
    fit = advi(TARGET, steps=20_000, samples=10, optimiser=Decaying(step_size=1.0), seed=3)
    q = fit.averaged()
    precision = np.linalg.inv(TARGET.truth.covariance)
    assert q.mean == pytest.approx(TARGET.truth.mean, abs=0.01)
    assert q.sd**2 == pytest.approx(1.0 / np.diag(precision), rel=0.02)
    best = gaussian_kl(TARGET.truth.mean, np.diag(1.0 / np.diag(precision)), TARGET.truth.mean, TARGET.truth.covariance)
    assert elbo(TARGET, pack(q.mean, q.root, "mean_field")).value[0] == pytest.approx(-best, abs=2e-3)


def test_minibatches_find_the_posterior():
    x, y = data(n=200)
    target = linear_regression(x, y, noise_sd=0.7)
    settings = {"family": "full_rank", "samples": 4, "batch": 20, "optimiser": Decaying(step_size=0.3)}
    q = advi(target, steps=20_000, **settings).averaged()
    sd = np.sqrt(np.diag(target.truth.covariance))
    assert np.abs((q.mean - target.truth.mean) / sd).max() < 0.1
    assert q.sd == pytest.approx(sd, rel=0.05)
    wrong = advi(target, steps=20_000, variant="no_scaling", **settings).averaged()
    assert wrong.sd == pytest.approx(sd * np.sqrt(10), rel=0.15), "a tenth of the data: an sd √10 times too large"


def test_without_the_jacobian_the_fit_is_elsewhere():
    """On a precision tau ~ Gamma(6, rate 5), q of log tau."""
    target, supports = CASES["positive"]
    settings = {"supports": supports, "steps": 8000, "samples": 10, "optimiser": Decaying(step_size=0.5)}
    right, wrong = (advi(target, variant=variant, **settings).averaged() for variant in ("exact", "no_jacobian"))
    values = [elbo(target, pack(q.mean, q.root, "mean_field"), supports=supports).value[0] for q in (right, wrong)]
    assert values[1] < values[0] - 0.02
    tau = right.draw(generator(1), 100_000)[:, 1]
    assert tau.mean() == pytest.approx(1.2, rel=0.02) and tau.std() == pytest.approx(0.49, rel=0.06)


@pytest.mark.parametrize("family", ["mean_field", "full_rank"])
@pytest.mark.parametrize("name,parameters", [("banana", {}), ("two_modes", {}), ("funnel", {"neck": 1.0}), ("student", {}), ("ring", {})])
def test_the_elbo_lies_below_the_evidence(name, parameters, family):
    target = targets.build(name, **parameters)
    fit = advi(target, family=family, steps=1500, samples=4, seed=1, every=100)
    found = elbo(target, fit.parameters, draws=20_000, seed=3)
    assert np.all(found.value <= target.truth.log_normaliser + 4 * found.error)
    best = found.value[1:].argmax() + 1  # its steps do not shrink: the last one may be worse
    risen, error = found.value[best] - found.value[0], np.hypot(found.error[best], found.error[0])
    assert risen > -4 * error, "and has not fallen"


def test_energy_and_entropy_by_quadrature_and_by_draws():
    for target, supports in CASES.values():
        at = np.stack([place("full_rank"), place("full_rank") - 0.3])
        exact, sampled = elbo(target, at, supports=supports), elbo(target, at, supports=supports, draws=100_000)
        assert np.all(np.abs((sampled.energy - exact.energy) / sampled.error) < 4)
        assert sampled.entropy == pytest.approx(exact.entropy, abs=1e-12)


def test_the_density_of_q_is_that_of_its_draws():
    target, supports = CASES["interval"]
    q = advi(target, supports=supports, steps=500, family="full_rank").approximation()
    draws = q.draw(generator(2), 200_000)
    x, y = np.linspace(-3.0, 4.0, 401), np.linspace(1e-6, 6.0, 401)
    density = np.exp(q.log_density(np.column_stack([a.ravel() for a in np.meshgrid(x, y)]))).reshape(401, 401)
    cell = (x[1] - x[0]) * (y[1] - y[0])
    assert density.sum() * cell == pytest.approx(1.0, abs=2e-3)
    below = (density * (y < 1.0)[:, None]).sum() * cell
    assert (draws[:, 1] < 1.0).mean() == pytest.approx(below, abs=0.01)
    assert q.log_density([[0.0, -1.0]])[0] == -np.inf


# Coordinate ascent ----------------------------------------------------------------------------------------------------


def test_coordinate_ascent_on_a_gaussian():
    mean, covariance = np.array([1.0, -2.0]), np.array([[1.0, 0.9], [0.9, 2.0]])
    found = ascend_gaussian(mean, covariance, start=[-2.0, 2.0], sweeps=40)
    assert np.all(np.diff(found.elbo) >= -1e-12)
    assert found.mean[-1] == pytest.approx(mean, abs=1e-6)
    assert found.sd[-1] ** 2 == pytest.approx(1.0 / np.diag(np.linalg.inv(covariance)))
    for u in (0, 1, 5, 80):  # the gap is the divergence, wherever q is
        assert -found.elbo[u] == pytest.approx(gaussian_kl(found.mean[u], np.diag(found.sd[u] ** 2), mean, covariance), abs=1e-10)
    target = targets.dense_gaussian(mean, covariance)
    at = pack(found.mean[3], np.diag(found.sd[3]), "mean_field")
    assert elbo(target, at).energy[0] == pytest.approx(found.energy[3], abs=1e-10)


def test_coordinate_ascent_on_mean_and_precision():
    y = generator(4).normal(3.0, 2.0, 8)
    prior = NormalGamma(m=1.0, kappa=0.5, alpha=2.0, beta=3.0)
    found = ascend_normal_gamma(y, prior, start=(0.0, 2.0), start_tau=(2.0, 1.0), sweeps=20)
    assert np.all(np.diff(found.elbo) >= -1e-12)
    assert found.log_evidence == pytest.approx(prior.log_evidence(y))
    assert found.elbo[-1] < found.log_evidence
    rng = generator(5)
    for u in (0, 1, 2, 40):
        mu = rng.normal(found.mean[u], found.sd[u], 200_000)
        tau = rng.gamma(found.shape[u], 1.0 / found.rate[u], 200_000)
        theta = np.column_stack([mu, tau])
        joint = prior.log_density(theta) + prior.log_likelihoods(theta, y).sum(axis=1)
        assert abs((joint.mean() - found.energy[u]) / (joint.std() / np.sqrt(len(joint)))) < 4
        log_q = found.log_density(u, mu, tau)
        assert abs((-log_q.mean() - found.entropy[u]) / (log_q.std() / np.sqrt(len(log_q)))) < 4


# Spike and slab -------------------------------------------------------------------------------------------------------


def selection(likelihood, n=50, p=5, seed=1, **settings):
    rng = generator(seed)
    x = rng.standard_normal((n, p))
    x[:, 1] = 0.9 * x[:, 0] + np.sqrt(1 - 0.81) * x[:, 1]
    eta = 0.3 + x @ np.array([0.7, 0.0, 0.5, 0.0, -0.4, 0.0, 0.0, 0.0])[:p]
    y = eta + rng.standard_normal(n) if likelihood == "linear" else rng.random(n) < 1.0 / (1.0 + np.exp(-eta))
    return x, y, spike_and_slab(x, y.astype(float), likelihood=likelihood, inclusion=0.3, **settings)


def test_linear_evidences_are_those_of_a_normal():
    x, y, model = selection("linear", noise_sd=0.8, slab_sd=1.5, intercept_sd=3.0)
    found = enumerate_models(model)
    for m in (0, 5, 31):
        inside = x[:, found.models[m]]
        covariance = 0.64 * np.eye(len(y)) + 9.0 + 2.25 * inside @ inside.T
        assert found.log_evidence[m] == pytest.approx(multivariate_normal.logpdf(y, cov=covariance), abs=1e-8)
    assert found.probability.sum() == pytest.approx(1.0)


def test_logistic_evidences_against_quadrature_and_annealing():
    x, y, model = selection("logistic", p=2, intercept_sd=2.0)
    found = enumerate_models(model, pairs=2000, seed=3)
    side, step = np.linspace(-6.0, 6.0, 401, retstep=True)
    alone = logistic_regression(np.column_stack([np.ones(len(y)), x[:, 0]]), y, prior_sd=1.0).density_grid(side, side)
    prior = norm.logpdf(side, 0, 2.0) - norm.logpdf(side, 0, 1.0)  # the intercept's is wider
    true = float(np.logaddexp.reduce(alone + prior, axis=None) + 2 * np.log(step))
    assert found.error[1] < 0.01
    assert abs(found.log_evidence[1] - true) < 4 * found.error[1]
    assert abs(found.laplace[1] - true) < 0.3
    other = enumerate_models(model, pairs=2000, seed=4)
    z = (found.log_evidence - other.log_evidence) / np.sqrt(found.error**2 + other.error**2)
    assert np.all(np.abs(z) < 4)


@pytest.mark.parametrize("likelihood", ["linear", "logistic"])
def test_gibbs_over_models_agrees_with_enumeration(likelihood):
    _, _, model = selection(likelihood)
    exact = enumerate_models(model, pairs=400)
    found = sample_models(model, chains=4, draws=10_000, seed=2)
    for j in range(model.predictors):
        for values in (found.conditional[:, :, j], found.included[:, :, j].astype(float)):
            error = values.std() / np.sqrt(ess_mean(values))
            assert error < 0.02
            seen = 4 * np.hypot(error, exact.inclusion_error[j]) + 4 / values.size  # what so many draws can show
            assert abs(values.mean() - exact.inclusion[j]) < seen
    for k in range(model.design.shape[1]):
        values = found.coefficients[:, :, k]
        assert abs(values.mean() - exact.coefficients[k]) < 4 * values.std() / np.sqrt(ess_mean(values)) + 0.01


@pytest.mark.parametrize("eta", [0.0, 0.7, 3.0, 12.0, 90.0])
def test_polya_gamma_moments(eta):
    rng = generator(8)
    draws = np.array([polya_gamma(rng, eta) for _ in range(25_000)])
    mean = 0.25 if eta == 0 else np.tanh(eta / 2) / (2 * eta)
    variance = 1 / 24 if eta == 0 else (np.tanh(eta / 2) * 2 - eta / np.cosh(eta / 2) ** 2) / (4 * eta**3)
    assert abs((draws.mean() - mean) / (draws.std() / np.sqrt(len(draws)))) < 4
    assert draws.var() == pytest.approx(variance, rel=0.08)


@pytest.mark.one_seed
@pytest.mark.parametrize("likelihood", ["linear", "logistic"])
def test_mean_field_over_models_is_a_bound_and_too_sure(likelihood):
    _, _, model = selection(likelihood)
    exact, found = enumerate_models(model), ascend_selection(model)
    assert found.converged and np.all(np.diff(found.elbo) >= -1e-9)
    assert found.elbo[-1] < exact.log_total - 4 * exact.log_total_error
    apart, far = np.diff(exact.inclusion[:2])[0], np.diff(found.inclusion[-1, :2])[0]
    if likelihood == "linear":  # two that are nearly the same share the probability; q gives it to one of them
        assert abs(far) > abs(apart) + 0.3
    else:  # too few labels to tell which, but surely one: q, one at a time, finds neither worth it
        assert np.all(found.inclusion[-1, :2] < exact.inclusion[:2] - 0.1)


def test_mean_field_is_right_where_predictors_are_orthogonal():
    """Then the linear posterior factorises, and q is the posterior: the gap closes."""
    rng = generator(6)
    x, _ = np.linalg.qr(rng.standard_normal((30, 4)))
    y = 5.0 * x @ np.array([0.5, 0.2, 0.0, -0.3]) + rng.standard_normal(30)
    model = spike_and_slab(5.0 * x, y, inclusion=0.4, intercept=False)
    exact, found = enumerate_models(model), ascend_selection(model)
    assert found.inclusion[-1] == pytest.approx(exact.inclusion, abs=1e-6)
    assert found.elbo[-1] == pytest.approx(exact.log_total, abs=1e-8)


def test_row_targets_against_the_network_without_hidden_layers():
    x, y = data()
    ours = logistic_regression(x, (y > 0).astype(float), prior_sd=2.0)
    network = engine.network(1, 1, depth=0, likelihood="bernoulli", prior_sd=2.0)
    other = network.posterior(x[:, 1:], (y > 0).astype(int))
    assert ours.log_density([0.4, -0.7]) == pytest.approx(other.log_density([-0.7, 0.4]), abs=1e-10)
    line = linear_regression(x, y, noise_sd=0.7, prior_sd=1.5)
    evidence = multivariate_normal.logpdf(y, cov=0.49 * np.eye(len(y)) + 2.25 * x @ x.T)
    assert line.truth.log_normaliser == pytest.approx(evidence, abs=1e-8)
    at = pack(line.truth.mean, np.linalg.cholesky(line.truth.covariance), "full_rank")
    assert elbo(line, at).value[0] == pytest.approx(evidence, abs=1e-8), "the posterior itself has no gap"
