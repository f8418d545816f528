"""The proof beside the picture: is what the page calls the posterior the posterior, and are these curves draws from it?

Where the answer is known, for a straight line, the chains are judged by it. For a network a stricter way needs no
mixing: weights drawn from the prior, and measurements drawn from those weights, are together an exact draw of both; so
the weights are an exact draw from the posterior of those measurements, and the page's sampler must leave every average
where it is (Geweke 2004).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.architectures import never_a_pass
from engine import judge
from engine.judge import MAX_RHAT, Z_LIMIT, Check, Verdict, mean_check
from engine.diagnostics import ess_mean, summarise
from engine.networks.predictive import outputs
from engine.samplers import run as runs
from lessons.regression import analysis
from lessons.regression.analysis import Chains
from lessons.regression.spec import RegressionLesson

Array = NDArray[np.float64]

PLACES = np.array([-3.0, -1.2, 0.7, 1.8, 3.0])  # inputs at which curves are watched
WORLDS = 300  # simulated pairs of weights and measurements
MOVES = 3  # transitions of each
MOST_INPUTS = 12  # measurements of each
NODES = 4  # where the gradient is tried
FEWEST = 40  # curves below which their spread cannot be told from the posterior's


def prove(spec: RegressionLesson, cancel: Any) -> list[Check]:
    """Every check of the page, the decisive ones first."""
    if spec.play == "draws" and spec.method != "nuts":
        return [same_as_posterior(spec, cancel)]
    chains = analysis.study(spec, cancel)
    found = [against_exact(spec, chains)] if spec.model == "line" else []
    if spec.noise == "learned":
        found.append(noise_conditional(spec, chains))
    found.append(simulated_data(spec, cancel))
    x, y = analysis.data_of(spec)
    model = analysis.network_of(spec)
    gentle = model.prior_draws(NODES, spec.seed) * min(1.0, 1.0 / spec.prior_sd)
    found += [agreement(spec, chains), judge.gradient_check(model.posterior(x, y), gentle)]
    wrong = "The sampler is broken on purpose."
    return found if spec.variant == "exact" else [never_a_pass(check, wrong) for check in found]


def watched(spec: RegressionLesson, chains: Chains) -> Array:
    """(chains, draws, places): the curves at PLACES."""
    flat = chains.theta.reshape(-1, chains.theta.shape[2])
    return outputs(analysis.network_of(spec), flat, PLACES[:, None])[:, :, 0].reshape(*chains.theta.shape[:2], -1)


def against_exact(spec: RegressionLesson, chains: Chains) -> Check:
    """Mean and variance of the line at five inputs, and of the noise where it is learned, against the exact answer."""
    name, true, values = "exact line", analysis.exact(spec, PLACES), watched(spec, chains)
    found = []
    for i, place in enumerate(PLACES):
        found.append(mean_check(name, f"the mean of the line at x = {place:g}", values[:, :, i], true.mean[i]))
        squares = (values[:, :, i] - true.mean[i]) ** 2
        found.append(mean_check(name, f"the variance of the line at x = {place:g}", squares, true.sd[i] ** 2))
    if spec.noise == "learned":
        mean = float(true.weight @ np.log(true.sigma))
        found.append(mean_check(name, "the mean of log σ", np.log(chains.noise), mean))
    return judge.worst(found)


def agreement(spec: RegressionLesson, chains: Chains) -> Check:
    """Do the chains agree on the curve? Weights may differ: units change places without changing it."""
    values = watched(spec, chains)
    summary = summarise(values)
    worst = float(np.max(summary.rhat))
    worst = worst if np.isfinite(worst) else math.inf
    sentence = (
        f"{len(values)} chains from different starts, R-hat of the curve at {len(PLACES)} inputs: at most {worst:.3f}; "
        f"at least {np.min(summary.ess_bulk):,.0f} effective draws. "
        + ("They agree." if worst <= MAX_RHAT else "They disagree: each has seen only part of the posterior.")
    )
    return Check("chains agree", "pass" if worst <= MAX_RHAT else "unknown", worst, MAX_RHAT, sentence)


def simulated_data(spec: RegressionLesson, cancel: Any) -> Check:
    """Weights from the prior, measurements from those weights; then the page's sampler moves the weights given the
    measurements. Averages of weights, curves and fit must stay.
    """
    model = analysis.network_of(spec)
    inputs = analysis.data_of(spec)[0]
    inputs = (
        inputs[np.linspace(0, len(inputs) - 1, min(MOST_INPUTS, len(inputs))).astype(int)] if len(inputs) else inputs
    )
    rng = np.random.Generator(np.random.SFC64([spec.seed, 11]))
    before = model.prior_draws(WORLDS, spec.seed)
    y = outputs(model, before, inputs)[:, :, 0] + spec.noise_sd * rng.standard_normal((WORLDS, len(inputs)))
    after = np.empty((WORLDS, MOVES, model.dim))
    for world in range(WORLDS):
        if cancel.is_set():
            raise InterruptedError
        target = model.posterior(inputs, y[world])
        run = runs.start(
            target, "nuts", chains=1, draws=MOVES, warmup=0, seed=world, init=before[world][None],
            step_size=step_size(spec), variant=spec.variant,
        )  # fmt: skip
        run.advance(MOVES)
        after[world] = run.recording().draws[0]
    first, last = (_features(spec, model, theta, inputs, y) for theta in (before[:, None], after))
    worst, which = 0.0, ""
    for name, values in last.items():
        change = values.mean(axis=1) - first[name].mean(axis=1)
        z = float(change.mean() / max(float(change.std(ddof=1)) / math.sqrt(WORLDS), 1e-300))
        if abs(z) >= abs(worst):
            worst, which = z, name
    sentence = (
        f"{WORLDS} networks from the prior, each with measurements of its own, moved {MOVES} times by NUTS given "
        f"those, σ known: {which} was {first[which].mean():.4g} and is {last[which].mean():.4g}, {abs(worst):.1f} "
        f"standard errors away, the worst of {len(first)} averages."
    )
    return Check("simulated data", "pass" if abs(worst) < Z_LIMIT else "fail", worst, Z_LIMIT, sentence, "SE")


def noise_conditional(spec: RegressionLesson, chains: Chains) -> Check:
    """Each noise precision was drawn given the curve of its sweep: through the distribution function of that gamma
    distribution the draws must be independent and uniform.
    """
    from scipy.stats import gamma

    x, y = analysis.data_of(spec)
    flat = chains.theta.reshape(-1, chains.theta.shape[2])
    squares = ((outputs(analysis.network_of(spec), flat, x)[:, :, 0] - y) ** 2).sum(axis=1)
    shape, rate = analysis.NOISE_SHAPE + 0.5 * len(y), analysis.NOISE_SHAPE * spec.noise_sd**2 + 0.5 * squares
    u = gamma.cdf(rate / chains.noise.ravel() ** 2, shape).reshape(chains.noise.shape)
    name = "noise given the curve"
    return judge.worst(
        [
            mean_check(name, "the mean quantile of 1/σ² in its gamma distribution", u, 0.5),
            mean_check(name, "the mean squared quantile of 1/σ² in its gamma distribution", u**2, 1.0 / 3.0),
        ]
    )


def step_size(spec: RegressionLesson) -> float:
    """Of the leapfrog on simulated data: well below the noise over the reach of a weight."""
    return float(np.clip(0.25 * spec.noise_sd / max(spec.prior_sd, 1.0), 0.01, 0.2))


def _features(spec: RegressionLesson, model: Any, theta: Array, inputs: Array, y: Array) -> dict[str, Array]:
    """Averages that must stay, each (worlds, moves): theta (worlds, moves, dim), y (worlds, n)."""
    flat = theta.reshape(-1, theta.shape[2])
    at = outputs(model, flat, PLACES[:, None])[:, :, 0].reshape(*theta.shape[:2], -1)
    fit = outputs(model, flat, inputs)[:, :, 0].reshape(*theta.shape[:2], -1)
    squares = ((theta / spec.prior_sd) ** 2).mean(axis=2)
    found = {"the mean square of all weights, in prior variances,": squares}
    found["the mean squared residual, in noise variances,"] = (((fit - y[:, None]) / spec.noise_sd) ** 2).mean(axis=2)
    for i, place in enumerate(PLACES):
        found[f"the mean of the curve at x = {place:g}"] = at[:, :, i]
        found[f"the mean square of the curve at x = {place:g}"] = at[:, :, i] ** 2
    return found


def same_as_posterior(spec: RegressionLesson, cancel: Any) -> Check:
    """Are these curves draws from the posterior? Their mean and sd at five inputs against those of the chains, or
    against the exact ones.
    """
    name = "same as the posterior"
    found = analysis.answer(spec)
    curves = found.at(PLACES)
    if len(curves) == 1:
        alone = "One network draws one curve. The posterior is a spread of curves, and this has none."
        return Check(name, "fail", math.inf, Z_LIMIT, alone, "SE")
    if spec.model == "line":
        true = analysis.exact(spec, PLACES)
        mean, sd, error, agree = true.mean, true.sd, np.zeros(len(PLACES)), 1.0
    else:
        values = watched(spec, analysis.study(spec, cancel))
        mean, sd = values.mean(axis=(0, 1)), values.std(axis=(0, 1))
        effective = np.array([ess_mean(values[:, :, i]) for i in range(len(PLACES))])
        error = 1.0 / np.sqrt(np.maximum(effective, 2.0))
        agree = float(np.max(summarise(values).rhat))
    mine = 1.0 / math.sqrt(len(curves))
    joint = sd * np.hypot(mine, error)
    off_mean = (curves.mean(axis=0) - mean) / joint
    off_sd = (curves.std(axis=0) - sd) / (joint / math.sqrt(2.0))
    worst = np.maximum(np.abs(off_mean), np.abs(off_sd))
    i = int(np.argmax(worst))
    verdict: Verdict = "pass" if worst[i] < Z_LIMIT else "fail"
    if verdict == "pass" and (len(curves) < FEWEST or not agree <= MAX_RHAT):
        verdict = "unknown"
    sentence = (
        f"At x = {PLACES[i]:g} these {len(curves)} curves have mean {curves[:, i].mean():.3f} and sd "
        f"{curves[:, i].std():.3f}; the posterior has {mean[i]:.3f} and {sd[i]:.3f}: {worst[i]:.1f} standard errors "
        "apart, the worst of five inputs."
    )
    if verdict == "fail":
        sentence += " An approximation, or one network: not draws from the posterior."
    elif verdict == "unknown":
        sentence += " Too few curves, or chains that disagree: these would not show a difference."
    return Check(name, verdict, float(worst[i]), Z_LIMIT, sentence, "SE")
