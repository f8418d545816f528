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
from lessons.regression.spec import RegressionLesson

Array = NDArray[np.float64]

PLACES = np.array([-3.0, -1.2, 0.7, 1.8, 3.0])  # inputs at which curves are watched
NODES = 4  # where the gradient is tried
FEWEST = 40  # curves below which their spread cannot be told from the posterior's
MASKS = 4000  # of dropout, drawn to be held against their law
CURVED = 1e-4  # relative error of a curvature by differences
CLIMBED = 0.05  # nats of log posterior that an optimiser may have left to climb
TRAINED = 0.5  # the same for a network trained by Adam
BEYOND = 1.0  # standard deviations by which planted curves are off


def by_nuts(spec: RegressionLesson) -> bool:
    """Whether the page's curves come from NUTS, alone or beside the others."""
    return spec.play == "compare" or spec.method == "nuts"


def kernels(spec: RegressionLesson) -> list[Kernel]:
    """NUTS as it runs on the stage; none where another method makes the curves."""
    if not by_nuts(spec):
        return []
    wrong = "" if spec.variant == "exact" else "NUTS is broken on purpose."
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
    values, names = watched(spec, chains), [f"the curve at x = {place:g}" for place in PLACES]
    columns, also = [values, chains.log_density[:, :, None]], ["the log density"]
    if spec.noise == "learned":
        columns.append(np.log(chains.noise)[:, :, None])
        also.append("log σ")
    found = [agreement_check(np.concatenate(columns, axis=2), [*names, *also])]
    found.append(divergence_check(chains.recording.divergent))
    assert chains.recording.energy is not None
    return [*found, energy_check(chains.recording.energy)]


def numbers(spec: RegressionLesson, chains: Chains, cancel: Any) -> Check:
    """The line against the exact answer, by two looks."""
    if spec.model != "line":
        words = (
            "No exact answer is known for a network's posterior: its averages have no closed form. For one that has, "
            "choose the straight line."
        )
        return unknown("exact answer", words, kind="numbers")

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
        found.append(Average(f"the mean of the line at x = {place:g}", values[:, :, i], float(true.mean[i])))
        squares = (values[:, :, i] - true.mean[i]) ** 2
        found.append(Average(f"the variance of the line at x = {place:g}", squares, float(true.sd[i] ** 2)))
    if spec.noise == "learned":
        mean = float(true.weight @ np.log(true.sigma))
        found.append(Average("the mean of log σ", np.log(chains.noise), mean))
    return averages_check("exact line", found, level=level)


# The methods that do not sample ---------------------------------------------------------------------------------------


def curvature_check(spec: RegressionLesson) -> Check:
    """Laplace's precision matrix against JᵀJ / σ² + 1 / s², with the slopes J of the outputs by differences."""
    x, y = analysis.data_of(spec)
    model = analysis.fitted_network(spec)
    mode = model.map_estimate(x, y, spec.seed, starts=analysis.CLIMBS).theta
    used = laplace(model, x, y, mode, hessian="gauss_newton").precision
    steps = 1e-5 * np.maximum(1.0, np.abs(mode))
    there, back = (np.tile(mode, (model.dim, 1)) + sign * np.diag(steps) for sign in (1.0, -1.0))
    slopes = (outputs(model, there, x) - outputs(model, back, x))[:, :, 0] / (2.0 * steps[:, None])
    wanted = slopes @ slopes.T / model.noise_sd**2 + np.eye(model.dim) / model.prior_sd**2
    size = np.sqrt(np.diag(wanted))
    error = float((np.abs(used - wanted) / np.outer(size, size)).max())
    verdict: Verdict = "pass" if error < CURVED else "fail"
    sentence = (
        f"Laplace's curvature at the mode, {model.dim} × {model.dim} numbers, agrees with one made of differences of "
        f"the outputs to {error:.1e}. The normal about the mode is what its formula says; that it is the posterior is "
        "not claimed."
    )
    return Check("curvature", verdict, error, CURVED, sentence, "relative error", kind="kernel")


def masks_check(spec: RegressionLesson, keep: float | None = None) -> Check:
    """Random masks against their law: a unit is kept with probability p and its output divided by p, so the mean over
    masks is the whole network, and the variance is Σ (vⱼ φⱼ)² (1 − p) / p. keep : of the masks drawn, default p
    """
    name = "masks"
    if spec.model == "line":
        return unknown(name, "A straight line has no hidden unit to leave out.", kind="kernel")
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
        return unknown(name, "No hidden unit does anything, so leaving one out changes nothing.", kind="kernel")
    features = np.concatenate([off, off**2 - variance], axis=1)[:, np.tile(kept, 2)]
    error = features.std(axis=0) / math.sqrt(MASKS)
    found = surprise(features.mean(axis=0) / error, np.corrcoef(features.T))
    place = PLACES[kept][found.place % int(kept.sum())]
    about = "mean" if found.place < kept.sum() else "variance"
    verdict: Verdict = "fail" if found.p < ALONE else "pass"
    sentence = (
        f"{MASKS:,} random masks of the trained network against the law of masks: the worst of {len(error)} averages "
        f"is the {about} of the curve at x = {place:g}, {abs(found.z):.1f} standard errors off. The masks are right; "
        "that their curves are the posterior's is not claimed."
    )
    if verdict == "fail":
        sentence = sentence.split(" The masks are right")[0] + " The masks are not what they should be."
    return Check(name, verdict, found.z, math.nan, sentence, "SE", kind="kernel", p=found.p)


def dropped_unit(model: Any, theta: Array, unit: int) -> Array:
    """The weights with one hidden unit's output weights at 0."""
    places = model.unpack(np.arange(model.dim))[-1][0]
    without = theta.copy()
    without[places.reshape(model.sizes[-2], -1)[unit].astype(int)] = 0.0
    return without


def climb_check(spec: RegressionLesson) -> Check:
    """Have the networks reached the tops of the log posterior that they climb?"""
    from scipy.optimize import minimize

    name, x, y = "the climb has ended", *analysis.data_of(spec)
    if spec.method == "dropout":
        words = "Dropout trains by noise: its network jitters for ever and climbs no fixed hill, so no end can be told."
        return unknown(name, words, kind="run")
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
    sentence = f"{len(members)} network{'s' * (len(members) > 1)}: at most {left:.2g} nats of log posterior were left to climb. "
    sentence += "Training has ended." if left <= limit else "More epochs would change the curves."
    verdict: Verdict = "pass" if left <= limit else "fail"
    return Check(name, verdict, left, limit, sentence, "nats", kind="run")


def same_as_posterior(spec: RegressionLesson, cancel: Any) -> Check:
    """Are these curves draws from the posterior? Their mean and sd at five inputs against those of the chains, or
    against the exact ones.
    """
    name, found = "same as the posterior", analysis.answer(spec)
    curves = found.at(PLACES)
    if len(curves) == 1:
        alone = "One network draws one curve. The posterior is a spread of curves, and this has none."
        return Check(name, "fail", math.inf, math.nan, alone, "SE")
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
            words = f"NUTS does not know the posterior here itself: R-hat {apart:.2f}, {effective.min():.0f} effective draws."
            return unknown(name, words, kind="numbers", unit="SE")
        tails = (((values - mean) / sd) ** 4).mean(axis=(0, 1))
    if is_planted(SHIFTED):
        curves = curves + BEYOND * sd
    z = off_posterior(curves, mean, sd, effective, tails)
    told = surprise(z)
    i = told.place % len(PLACES)
    verdict: Verdict = "fail" if told.p < ALONE else "pass" if len(curves) >= FEWEST else "unknown"
    against = "the exact posterior" if spec.model == "line" else "the posterior by NUTS"
    sentence = (
        f"At x = {PLACES[i]:g} these {len(curves)} curves have mean {curves[:, i].mean():.3f} and sd "
        f"{curves[:, i].std():.3f}; {against} has {mean[i]:.3f} and {sd[i]:.3f}: {abs(told.z):.1f} standard errors "
        f"apart, the worst of {len(z)} averages."
    )
    if verdict == "fail":
        sentence += " An approximation: these are not draws from the posterior."
    elif verdict == "unknown":
        sentence += " So few curves would not show a difference."
    return Check(name, verdict, told.z, math.nan, sentence, "SE", p=told.p)


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
