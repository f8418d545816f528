"""The three signs of the page: is this sampler right, has it run long enough, and are these curves the posterior's?

NUTS is judged by the trial of `engine.judge`, at the page's own inputs, network, noise and tuning. The other methods
are approximations: what is proven of them is that their code does what its formula says; how far their curves are from
the posterior's is a question of numbers, and is told.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import ess_mean, rhat
from engine.judge import (
    ALONE,
    FIRST,
    MAX_RHAT,
    MIN_ESS,
    SECOND,
    Average,
    Check,
    Kernel,
    Verdict,
    agreement_check,
    averages_check,
    divergence_check,
    energy_check,
    gradient_check,
    kernel_of,
    two_looks,
    unknown,
)
from engine.judge.looks import surprise
from engine.judge.plant import SHIFTED, is_planted
from engine.judge.recordings import LATER
from engine.networks.predictive import outputs
from engine.spec import MAX_SEED
from engine.training import dropout_draws, laplace, train
from lessons.regression import analysis
from lessons.regression.analysis import Chains
from lessons.regression.spec import WORDS, RegressionLesson

Array = NDArray[np.float64]

PLACES = np.array([-3.0, -1.2, 0.7, 1.8, 3.0])  # inputs at which curves are watched
NODES = 4  # where the gradient is tried
FEWEST = 40  # curves below which their spread cannot be told from the posterior's
MASKS = 4000  # of dropout, drawn to be held against their law
CURVED = 1e-4  # relative error of a curvature by differences
CLIMBED = 0.05  # nats of log posterior that an optimiser may have left to climb
TRAINED = 0.5  # the same for a network trained by Adam
UNIT = "SE"  # standard errors
BEYOND = 1.0  # standard deviations by which planted curves are off


def by_nuts(spec: RegressionLesson) -> bool:
    """Whether the page's curves come from NUTS, alone or beside the others."""
    return spec.play == "compare" or spec.method == "nuts"


def kernels(spec: RegressionLesson) -> list[Kernel]:
    """NUTS as it runs on the stage; none where another method makes the curves."""
    if not by_nuts(spec):
        return []
    wrong = "" if spec.variant == "exact" else WORDS.phrase("checks.broken")
    found = kernel_of(analysis.staged(analysis.sampling(spec)).recording, wrong)
    return [found] if found is not None else []


def audit(spec: RegressionLesson, cancel: Any) -> list[Check]:
    """The gradient against differences; of a method that does not sample, what its formula says."""
    x, y = analysis.data_of(spec)
    model = analysis.network_of(spec)
    gentle = model.prior_draws(NODES, spec.seed) * min(1.0, 1.0 / spec.prior_sd)
    found = [gradient_check(model.posterior(x, y), gentle)]
    if not by_nuts(spec) and spec.method == "laplace":
        found.append(curvature_check(spec))
    if not by_nuts(spec) and spec.method == "dropout":
        found.append(masks_check(spec))
    return found


def checks(spec: RegressionLesson, cancel: Any) -> list[Check]:
    """Has what made the curves ended, and are they the posterior's?"""
    if not by_nuts(spec):
        return [climb_check(spec), same_as_posterior(spec, cancel)]
    chains = analysis.study(spec, cancel)
    return [*run_checks(spec, chains), numbers(spec, chains, cancel)]


# NUTS -----------------------------------------------------------------------------------------------------------------


def watched(spec: RegressionLesson, chains: Chains) -> Array:
    """(chains, draws, places): the curves at PLACES."""
    flat = chains.theta.reshape(-1, chains.theta.shape[2])
    return outputs(analysis.network_of(spec), flat, PLACES[:, None])[:, :, 0].reshape(*chains.theta.shape[:2], -1)


def run_checks(spec: RegressionLesson, chains: Chains) -> list[Check]:
    """Do four chains agree on the curve? Weights may differ: units change places without changing it."""
    values, names = watched(spec, chains), [WORDS.phrase("checks.curve", x=place) for place in PLACES]
    columns, also = [values, chains.log_density[:, :, None]], [WORDS.phrase("checks.log_density")]
    if spec.noise == "learned":
        columns.append(np.log(chains.noise)[:, :, None])
        also.append(WORDS.phrase("checks.log_noise"))
    found = [agreement_check(np.concatenate(columns, axis=2), [*names, *also])]
    found.append(divergence_check(chains.recording.divergent))
    assert chains.recording.energy is not None
    return [*found, energy_check(chains.recording.energy)]


def numbers(spec: RegressionLesson, chains: Chains, cancel: Any) -> Check:
    """The line against the exact answer, by two looks."""
    if spec.model != "line":
        return unknown(WORDS.phrase("checks.answer"), WORDS.phrase("checks.no_answer"), kind="numbers")

    def look(number: int, work: int) -> Check:
        if number == 1:
            return against_exact(spec, chains, FIRST)
        kept = analysis.sampling(spec)
        seed = ((spec.seed ^ 0x5EED) + LATER) % (MAX_SEED + 1)
        with ticket.holding(cancel):
            return against_exact(spec, analysis.longer(kept, seed, work * analysis.KEPT_LINE), SECOND)

    return two_looks(look)


def against_exact(spec: RegressionLesson, chains: Chains, level: float = ALONE) -> Check:
    """Mean and variance of the line at five inputs, and of the noise where it is learned, against the exact answer."""
    true, values = analysis.exact(spec, PLACES), watched(spec, chains)
    found = []
    for i, place in enumerate(PLACES):
        found.append(Average(WORDS.phrase("checks.mean", x=place), values[:, :, i], float(true.mean[i])))
        squares = (values[:, :, i] - true.mean[i]) ** 2
        found.append(Average(WORDS.phrase("checks.variance", x=place), squares, float(true.sd[i] ** 2)))
    if spec.noise == "learned":
        mean = float(true.weight @ np.log(true.sigma))
        found.append(Average(WORDS.phrase("checks.mean_log_noise"), np.log(chains.noise), mean))
    return averages_check(WORDS.phrase("checks.line"), found, level=level)


# The methods that do not sample ---------------------------------------------------------------------------------------


def curvature_check(spec: RegressionLesson) -> Check:
    """Laplace's precision matrix against JᵀJ / σ² + 1 / s², with the slopes J of the outputs by differences."""
    x, y = analysis.data_of(spec)
    model = analysis.fitted_network(spec)
    mode = analysis.mode_of(spec)
    used = laplace(model, x, y, mode, hessian="gauss_newton").precision
    steps = 1e-5 * np.maximum(1.0, np.abs(mode))
    there, back = (np.tile(mode, (model.dim, 1)) + sign * np.diag(steps) for sign in (1.0, -1.0))
    slopes = (outputs(model, there, x) - outputs(model, back, x))[:, :, 0] / (2.0 * steps[:, None])
    wanted = slopes @ slopes.T / model.noise_sd**2 + np.eye(model.dim) / model.prior_sd**2
    size = np.sqrt(np.diag(wanted))
    error = float((np.abs(used - wanted) / np.outer(size, size)).max())
    verdict: Verdict = "pass" if error < CURVED else "fail"
    sentence, unit = WORDS.phrase("checks.same_curvature", dim=model.dim, error=error), WORDS.phrase("checks.relative_error")
    return Check(WORDS.phrase("checks.curvature"), verdict, error, CURVED, sentence, unit, kind="kernel")


def masks_check(spec: RegressionLesson, keep: float | None = None) -> Check:
    """Random masks against their law: a unit is kept with probability p and its output divided by p, so the mean over
    masks is the whole network, and the variance is Σ (vⱼ φⱼ)² (1 − p) / p. keep : of the masks drawn, default p
    """
    name = WORDS.phrase("checks.masks")
    if spec.model == "line":
        return unknown(name, WORDS.phrase("checks.no_unit"), kind="kernel")
    x, y = analysis.data_of(spec)
    model = analysis.fitted_network(spec)
    theta = train(model, x, y, every=spec.epochs, keep=spec.keep, **analysis.training(spec, model, y)).theta
    drawn = dropout_draws(model, theta, spec.keep if keep is None else keep, MASKS, spec.seed)
    curves = outputs(model, drawn, PLACES[:, None])[:, :, 0]
    whole = outputs(model, theta[None], PLACES[:, None])[0, :, 0]
    parts = np.empty((spec.units, len(PLACES)))
    for unit in range(spec.units):
        without = dropped_unit(model, theta, unit)
        parts[unit] = whole - outputs(model, without[None], PLACES[:, None])[0, :, 0]
    odds = (1.0 - spec.keep) / spec.keep
    variance = (parts**2).sum(axis=0) * odds
    off = curves - whole
    kept = variance > 1e-12
    if not kept.any():
        return unknown(name, WORDS.phrase("checks.idle_units"), kind="kernel")
    features = np.concatenate([off, off**2 - variance], axis=1)[:, np.tile(kept, 2)]
    error = features.std(axis=0) / math.sqrt(MASKS)
    found = surprise(features.mean(axis=0) / error, np.corrcoef(features.T))
    place = PLACES[kept][found.place % int(kept.sum())]
    about = WORDS.phrase("checks.about_mean" if found.place < kept.sum() else "checks.about_variance")
    verdict: Verdict = "fail" if found.p < ALONE else "pass"
    law = WORDS.phrase("checks.law_of_masks", masks=MASKS, averages=len(error), about=about, x=place, z=abs(found.z))
    sentence = f"{law} {WORDS.phrase('checks.wrong_masks' if verdict == 'fail' else 'checks.right_masks')}"
    return Check(name, verdict, found.z, math.nan, sentence, UNIT, kind="kernel", p=found.p)


def dropped_unit(model: Any, theta: Array, unit: int) -> Array:
    """The weights with one hidden unit's output weights at 0."""
    places = model.unpack(np.arange(model.dim))[-1][0]
    without = theta.copy()
    without[places.reshape(model.sizes[-2], -1)[unit].astype(int)] = 0.0
    return without


def climb_check(spec: RegressionLesson) -> Check:
    """Have the networks reached the tops of the log posterior that they climb?"""
    from scipy.optimize import minimize

    name, (x, y) = WORDS.phrase("checks.climb"), analysis.data_of(spec)
    if spec.method == "dropout":
        return unknown(name, WORDS.phrase("checks.jitters"), kind="run")
    model = analysis.fitted_network(spec)
    posterior = model.posterior(x, y)

    def downhill(theta: Array) -> tuple[float, Array]:
        value, gradient = posterior.log_density_and_gradient(theta)
        return -value, -gradient

    found = analysis.answer(spec)
    members = analysis.mode_of(spec)[None] if spec.method == "laplace" else found.theta
    here = posterior.log_density_many(np.ascontiguousarray(members))
    ends = np.array([-minimize(downhill, theta, jac=True, method="L-BFGS-B").fun for theta in members])
    left, limit = float((ends - here).max()), TRAINED if spec.method == "ensemble" else CLIMBED
    climbed = WORDS.phrase("checks.left_of_one" if len(members) == 1 else "checks.left", networks=len(members), left=left)
    sentence = f"{climbed} {WORDS.phrase('checks.ended' if left <= limit else 'checks.not_ended')}"
    verdict: Verdict = "pass" if left <= limit else "fail"
    return Check(name, verdict, left, limit, sentence, "nats", kind="run")


def same_as_posterior(spec: RegressionLesson, cancel: Any) -> Check:
    """Are these curves draws from the posterior? Their mean and sd at five inputs against those of the chains, or
    against the exact ones.
    """
    name, found = WORDS.phrase("checks.same"), analysis.answer(spec)
    curves = found.at(PLACES)
    if len(curves) == 1:
        return Check(name, "fail", math.inf, math.nan, WORDS.phrase("checks.alone"), UNIT)
    if spec.model == "line":
        true = analysis.exact(spec, PLACES)
        mean, sd, effective = true.mean, true.sd, np.full(len(PLACES), np.inf)
        tails = np.full(len(PLACES), 3.0)
    else:
        values = watched(spec, analysis.study(spec, cancel))
        mean, sd = values.mean(axis=(0, 1)), values.std(axis=(0, 1))
        effective = np.array([ess_mean(values[:, :, i]) for i in range(len(PLACES))])
        apart = max(rhat(values[:, :, i]) for i in range(len(PLACES)))
        if not (apart <= MAX_RHAT and effective.min() >= MIN_ESS):
            words = WORDS.phrase("checks.not_known", rhat=apart, effective=effective.min())
            return unknown(name, words, kind="numbers", unit=UNIT)
        tails = (((values - mean) / sd) ** 4).mean(axis=(0, 1))
    if is_planted(SHIFTED):
        curves = curves + BEYOND * sd
    z = off_posterior(curves, mean, sd, effective, tails)
    told = surprise(z)
    i = told.place % len(PLACES)
    verdict: Verdict = "fail" if told.p < ALONE else "pass" if len(curves) >= FEWEST else "unknown"
    sentence = WORDS.phrase(
        "checks.compared",
        x=PLACES[i],
        curves=len(curves),
        mean=curves[:, i].mean(),
        sd=curves[:, i].std(),
        posterior=WORDS.phrase("checks.exact_posterior" if spec.model == "line" else "checks.by_nuts"),
        true_mean=mean[i],
        true_sd=sd[i],
        z=abs(told.z),
        averages=len(z),
    )
    if verdict != "pass":
        sentence = f"{sentence} {WORDS.phrase('checks.approximation' if verdict == 'fail' else 'checks.few_curves')}"
    return Check(name, verdict, told.z, math.nan, sentence, UNIT, p=told.p)


def off_posterior(curves: Array, mean: Array, sd: Array, effective: Array, tails: Array) -> Array:
    """(2 m,) errors in standard errors, of means and of sds, of independent curves (n, m) against a posterior known by
    `effective` draws (m,), whose curves have kurtosis `tails` (m,).
    """
    from scipy.stats import chi2, norm

    share = 1.0 / len(curves) + 1.0 / effective
    off_mean = (curves.mean(axis=0) - mean) / (sd * np.sqrt(share))
    freedom = 2.0 / ((np.maximum(tails, 1.5) - 1.0) * share)
    ratio = freedom * curves.var(axis=0, ddof=1) / sd**2
    upper, lower = chi2.sf(ratio, freedom), chi2.cdf(ratio, freedom)
    tail = np.maximum(np.minimum(upper, lower), 1e-300)
    return np.concatenate([off_mean, np.where(upper < lower, 1.0, -1.0) * norm.isf(tail)])
