"""The proof beside the picture: checks computed for the network, the sampler settings and the data of this very page.

Exact draws are to be had where the likelihood is gentle: a prior draw, accepted with the probability that its network
gives to a few points, is an exact draw from the posterior of those points. The page's sampler, started there, must
leave every average where it is. That judges the sampler even where its chains crawl, for no chain has to find anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import judge, sample
from engine.judge import MAX_RHAT, MIN_ESS, Z_LIMIT, Check, acceptance_check
from engine.diagnostics import ess_mean, rhat
from engine.networks.predictive import log_likelihood, probabilities
from engine.samplers import run as runs
from lessons.xor.chains import CHAINS, PLACES, WATCHED, Study, advance, examine, kept_states, study, work
from lessons.xor.learning import data_of, density_of, model_of, predictor_of, settings_of, starts_of
from lessons.xor.spec import XorSpec

Array = NDArray[np.float64]

EXACT_DRAWS = 1000
LEAST_EXACT = 300
TRANSITIONS = 6  # that each exact draw is moved
PRIOR_DRAWS = 200_000  # to choose exact draws from
FEW = 4  # points of the small posterior
PATHS = 8
MOST_STEPS = 25  # of a path run back: over longer ones chaos blows rounding errors up, whatever the code


def prove(spec: XorSpec, cancel: Any) -> list[Check]:
    """Every check of the page's run, the decisive ones first."""
    x, y = data_of(spec)
    found = [prior_recovery(spec)] + [few_points(spec)] * bool(len(x))
    chains = study(spec, cancel)
    found += [acceptances(chains), agreement(chains), finer_steps(spec, chains, cancel)]
    points = _spread_points(chains)
    rng = np.random.Generator(np.random.SFC64(spec.seed))
    momenta = rng.standard_normal(points.shape)
    # where tanh is not yet a cliff: beyond, finite differences err more than the gradient
    gentle = min(spec.prior_sd, 1.0) * rng.standard_normal(points.shape)
    posterior = model_of(spec).posterior(x, y)
    return [
        *found,
        judge.gradient_check(posterior, gentle),
        judge.reversibility_check(
            posterior, points, momenta, step_size=spec.step_size, steps=min(spec.leapfrog, MOST_STEPS)
        ),
    ]


def _spread_points(chains: Study) -> Array:
    weights = chains.weights[np.all(np.isfinite(chains.weights), axis=1)]
    return weights[np.linspace(0, len(weights) - 1, PATHS).astype(int)]


# Exact draws must stay exact ------------------------------------------------------------------------------------------


def prior_recovery(spec: XorSpec) -> Check:
    """Without data the posterior is the prior: exact prior draws, moved by the page's sampler, must keep their means
    and sizes.
    """
    model = model_of(spec)
    starts = model.prior_draws(EXACT_DRAWS, spec.seed)
    moved = _moved(spec, starts, np.empty((0, 2)), np.empty(0, dtype=np.int64))

    def quantities(weights: Array) -> dict[str, Array]:
        layers = zip(("hidden", "output"), model.unpack(weights / spec.prior_sd), strict=True)
        values = {"the mean of all weights": weights.mean(axis=-1) / spec.prior_sd}
        for name, (matrix, bias) in layers:
            values[f"the mean square of the {name} weights"] = (matrix**2).mean(axis=(-2, -1))
            values[f"the mean square of the {name} biases"] = (bias**2).mean(axis=-1)
        return values

    story = f"{EXACT_DRAWS:,} exact prior draws, data switched off, each moved {TRANSITIONS} times by this sampler"
    return stays("prior recovery", story, quantities(starts), quantities(moved))


def few_points(spec: XorSpec) -> Check:
    """The posterior of a few of the page's points, known by rejection sampling from the prior, must be left as it is,
    predictions included.
    """
    name = "small posterior"
    model, predictor = model_of(spec), predictor_of(spec)
    x, y = _few(*data_of(spec))
    prior = model.prior_draws(PRIOR_DRAWS, spec.seed)
    uniform = np.random.Generator(np.random.SFC64(spec.seed)).random(PRIOR_DRAWS)
    for points in range(len(x), 0, -1):
        x, y = x[:points], y[:points]
        exact = prior[np.log(uniform) < log_likelihood(model, prior, x, y)]
        if len(exact) >= LEAST_EXACT:
            break
    else:
        return Check(
            name,
            "unknown",
            float("nan"),
            Z_LIMIT,
            "The prior explains none of the points well enough to find exact draws.",
            "SE",
        )
    share = len(exact) / PRIOR_DRAWS
    starts = exact[:EXACT_DRAWS]
    moved = _moved(spec, starts, x, y)

    def quantities(weights: Array, network: Any) -> dict[str, Array]:
        flat = weights.reshape(-1, weights.shape[-1])
        at = probabilities(network, flat, WATCHED)[:, :, 1].reshape(*weights.shape[:-1], len(WATCHED))
        values = {f"the mean probability at the place “{place}”": at[..., i] for i, place in enumerate(PLACES)}
        values["the mean log likelihood"] = log_likelihood(model, flat, x, y).reshape(weights.shape[:-1])
        return values

    story = (
        f"{len(starts):,} exact draws from the posterior of {len(x)} of the points (prior draws, {share:.1%} of them "
        f"accepted), each moved {TRANSITIONS} times"
    )
    return stays(name, story, quantities(starts, model), quantities(moved, predictor))


def _few(x: Array, y: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """A few points spread over the data set: of the clouds, one of each."""
    at = np.linspace(0, len(x) - 1, FEW).astype(int) if len(x) > FEW else np.arange(len(x))
    return x[at], y[at]


def _moved(spec: XorSpec, starts: Array, x: Array, y: NDArray[np.int64]) -> Array:
    """The states that the page's sampler visits from each start, (starts, TRANSITIONS, dim)."""
    target, settings = density_of(spec, x, y), settings_of(spec)
    return sample(
        target, "hmc", chains=len(starts), draws=TRANSITIONS, seed=spec.seed, init=starts, **settings
    ).draws  # fmt: skip


def stays(name: str, story: str, before: dict[str, Array], after: dict[str, Array]) -> Check:
    """Do averages over independent exact draws stay where they are? before (n,) and after (n, transitions) by quantity;
    paired differences.
    """
    worst, which = 0.0, ""
    for quantity, values in before.items():
        change = after[quantity].mean(axis=1) - values
        spread = float(change.std(ddof=1))
        if not np.isfinite(spread):
            worst, which = np.inf, quantity
        elif spread > 0 and abs(z := float(change.mean()) / (spread / np.sqrt(len(change)))) > abs(worst):
            worst, which = z, quantity
    if not which:
        return Check(name, "unknown", float("nan"), Z_LIMIT, f"{story}: none of them moved, so nothing is shown.", "SE")
    start, end = before[which].mean(), after[which].mean()
    sentence = (
        f"{story}: {which} was {start:.4g} and is {end:.4g} now, {abs(worst):.1f} standard errors away, the worst of "
        f"{len(before)} averages."
    )
    return Check(name, "pass" if abs(worst) < Z_LIMIT else "fail", worst, Z_LIMIT, sentence, "SE")


# The chains -----------------------------------------------------------------------------------------------------------


def acceptances(chains: Study) -> Check:
    """Were as many proposals accepted as their Metropolis probabilities say?"""
    return acceptance_check(chains.accept_prob, chains.accepted)


def agreement(chains: Study) -> Check:
    """Do the chains agree on what the network computes?"""
    worst = chains.rhat
    place = PLACES[int(np.nanargmax(np.where(np.isfinite(chains.summary.rhat), chains.summary.rhat, np.inf)))]
    sentence = (
        f"{CHAINS} chains from different starts, R-hat of the predicted probability at {len(WATCHED)} inputs: at most "
        f"{worst:.3f} (at the place “{place}”). "
        + ("They agree." if worst <= MAX_RHAT else "They disagree: each chain's maps are only part of the posterior.")
    )
    return Check("chains agree", "pass" if worst <= MAX_RHAT else "unknown", worst, MAX_RHAT, sentence, "")


def finer_steps(spec: XorSpec, chains: Study, cancel: Any) -> Check:
    """The page's chains against the exact sampler with half the step size and twice the steps: the same posterior, or
    the step size shows.
    """
    name = "finer steps"
    x, y = data_of(spec)
    model = model_of(spec)
    settings = {"step_size": spec.step_size / 2, "steps": 2 * spec.leapfrog, "jitter": spec.jitter}
    run = runs.start(
        model.posterior(x, y),
        "hmc",
        chains=CHAINS,
        draws=spec.burn + kept_states(spec),
        seed=spec.seed ^ 0x5EED,
        init=starts_of(spec, CHAINS),
        **settings,
    )
    advance(run, 2 * work(spec), cancel)
    finer = examine(spec, run.recording(), model)
    ours, theirs = _averages(spec, chains, x, y), _averages(spec, finer, x, y)
    worst, which, least = 0.0, "", np.inf
    for quantity, values in ours.items():
        other = theirs[quantity]
        if not (rhat(values) <= MAX_RHAT and rhat(other) <= MAX_RHAT):
            reason = f"Chains disagree about {quantity}, so their error bars mean nothing."
            return Check(name, "unknown", float("nan"), Z_LIMIT, reason, "MCSE")
        sizes = ess_mean(values), ess_mean(other)
        least = min(least, *sizes)
        z = (values.mean() - other.mean()) / np.sqrt(values.var() / sizes[0] + other.var() / sizes[1])
        if abs(z) > abs(worst):
            worst, which = float(z), quantity
    if least < MIN_ESS:
        reason = f"Only {least:.0f} effective draws: too few to compare."
        return Check(name, "unknown", float("nan"), Z_LIMIT, reason, "MCSE")
    sentence = (
        f"Against {CHAINS} exact chains with half the step size and twice the steps, {which} is "
        f"{ours[which].mean():.4g}, theirs {theirs[which].mean():.4g}: {abs(worst):.1f} standard errors apart, the "
        f"worst of {len(ours)} averages."
    )
    return Check(name, "pass" if abs(worst) < Z_LIMIT else "fail", worst, Z_LIMIT, sentence, "MCSE")


def _averages(spec: XorSpec, chains: Study, x: Array, y: NDArray[np.int64]) -> dict[str, Array]:
    """What two runs must agree on, each (chains, draws)."""
    values = {f"the mean probability at the place “{place}”": chains.watched[:, :, i] for i, place in enumerate(PLACES)}
    if len(x):
        flat = log_likelihood(model_of(spec), chains.weights, x, y)
        values["the mean log likelihood"] = flat.reshape(chains.watched.shape[:2])
    values["the mean square of all weights"] = (chains.draws**2).mean(axis=2)
    return values
