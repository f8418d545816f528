"""Exactness checks: does a run do what its mathematics says?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.diagnostics import ess_mean, rhat
from engine.samplers.chain import Chain, Trace
from engine.samplers.hmc import DIVERGENCE, trajectory
from engine.samplers.run import Method
from engine.targets.target import Target, Truth

Array = NDArray[np.float64]

Verdict = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True)
class Check:
    """One check of a run.

    Attributes
    ----------
    name : what is checked, a few words
    verdict : "unknown" means that this run cannot tell (too few effective draws); it is never shown as a pass
    statistic, limit : what was measured and the value beyond which the check fails, both in `unit`
    sentence : what was compared with what and what came out, for people
    unit : unit of `statistic`, for example "MCSE"
    """

    name: str
    verdict: Verdict
    statistic: float
    limit: float
    sentence: str
    unit: str = ""


Z_LIMIT = 4.0  # |z| beyond this fails: one in 16,000 for a right sampler
MIN_ESS = 400.0  # below this a standard error is itself too uncertain to judge by
MAX_RHAT = 1.01  # above this the chains disagree, and no error bar from them means anything


def moment_checks(draws: Array, truth: Truth, labels: tuple[str, ...]) -> list[Check]:
    """Error of means, variances and covariances of `draws` (chains, draws, dim) in Monte Carlo standard errors, against
    the truth.

    One check for each of the three kinds, carrying its worst quantity. The kinds whose truth is infinite or unknown say
    so. In more than 12
    dimensions the covariances are those of neighbouring coordinates.
    """
    dim = draws.shape[2]
    centred = draws - truth.mean
    means = [(f"the mean of {labels[i]}", draws[:, :, i], truth.mean[i]) for i in range(dim)]
    variances = [(f"the variance of {labels[i]}", centred[:, :, i] ** 2, truth.covariance[i, i]) for i in range(dim)]
    pairs = [(i, j) for i in range(dim) for j in range(i + 1, dim) if dim <= 12 or j == i + 1]
    covariances = [
        (f"the covariance of {labels[i]} and {labels[j]}", centred[:, :, i] * centred[:, :, j], truth.covariance[i, j])
        for i, j in pairs
    ]
    kinds = [("means", means), ("variances", variances), ("covariances", covariances)]
    return [_worst(name, quantities) for name, quantities in kinds if quantities]


def _worst(name: str, quantities: list[tuple[str, Array, float]]) -> Check:
    return worst([mean_check(name, what, values, true) for what, values, true in quantities])


def worst(checks: list[Check]) -> Check:
    """The check to show of several: a failure before an open one before a pass, then the largest statistic."""
    rank = {"fail": 2, "unknown": 1, "pass": 0}
    return max(checks, key=lambda c: (rank[c.verdict], 0.0 if np.isnan(c.statistic) else abs(c.statistic)))


def mean_check(
    name: str, what: str, values: Array, true: float, *, sd: float | None = None, at_most: float = math.inf
) -> Check:
    """Compare the mean of `values` (chains, draws) with `true`, in Monte Carlo standard errors.

    sd : the true standard deviation of one value where it is known, default that of `values`; at_most : effective draws
        that may count
    """

    def unknown(reason: str) -> Check:
        return Check(name, "unknown", float("nan"), Z_LIMIT, f"{what.capitalize()} cannot be judged: {reason}", "MCSE")

    if not np.isfinite(true):
        return unknown("the true value is not finite, so no average converges to it.")
    if np.ptp(values) == 0.0:
        return unknown("every draw gives the same value.")
    disagreement = rhat(values)
    if not disagreement <= MAX_RHAT:
        return unknown(
            f"the chains disagree (R-hat {disagreement:.2f}), so their error bar means nothing. "
            "The settings mix too slowly."
        )
    effective = min(ess_mean(values), at_most)
    if not effective >= MIN_ESS:
        return unknown(f"only {effective:.0f} effective draws, at least {MIN_ESS:.0f} are needed.")
    error = float(values.mean()) - true
    mcse = (float(values.std()) if sd is None else sd) / np.sqrt(effective)
    z = error / mcse
    verdict: Verdict = "pass" if abs(z) < Z_LIMIT else "fail"
    sentence = (
        f"{what[0].upper()}{what[1:]} is {values.mean():.4g}, true {true:.4g}: "
        f"off by {abs(z):.1f} Monte Carlo standard errors "
        f"({effective:,.0f} effective draws)."
    )
    return Check(name, verdict, z, Z_LIMIT, sentence, "MCSE")


QUANTILES = (0.02, 0.25, 0.5, 0.75, 0.98)


def marginal_check(draws: Array, truth: Truth, labels: tuple[str, ...]) -> Check:
    """Share of `draws` (chains, draws, dim) below five exact quantiles of every marginal, in Monte Carlo standard
    errors.

    Shares have finite variance whatever the tails, so this judges also where moments are infinite or hang on a few
    draws (funnel, Student).
    """
    places = [_quantiles(density, draws[:, :, j]) for j, density in enumerate(truth.marginals)]
    # A tail seldom visited seems to mix better than it does: no share counts more effective draws than the slowest of
    # the middle ones.
    slowest = min(ess_mean((draws[:, :, j] < at[len(at) // 2]).astype(np.float64)) for j, at in enumerate(places))
    checks = []
    for j, at in enumerate(places):
        for share, place in zip(QUANTILES, at, strict=True):
            below = (draws[:, :, j] < place).astype(np.float64)
            what = f"the share of {labels[j]} below {place:.3g}"
            checks.append(
                mean_check("marginals", what, below, share, sd=math.sqrt(share * (1.0 - share)), at_most=slowest)
            )
    return worst(checks)


def _quantiles(density: Callable[[Array], Array], seen: Array) -> Array:
    """The `QUANTILES` of a density, by the trapezoidal rule on a grid that is widened until it holds all but 1e-6 of
    the mass.
    """
    centre, scale = float(np.median(seen)), max(float(np.subtract(*np.quantile(seen, [0.75, 0.25]))), 1e-6)
    reach = 4.0  # in units of `scale`
    for _ in range(40):
        edge = np.arcsinh(reach)
        x = centre + scale * np.sinh(np.linspace(-edge, edge, 8001))  # dense in the middle, wide in the tails
        values = density(x)
        mass = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(x))])
        if mass[-1] > 1.0 - 1e-6:
            break
        reach *= 2.0
    return np.asarray(np.interp(np.asarray(QUANTILES) * mass[-1], mass, x))


def truth_checks(draws: Array, truth: Truth, labels: tuple[str, ...]) -> list[Check]:
    """`draws` (chains, draws, dim) against all that the truth can judge: marginals, and moments if tails are light."""
    moments = [] if truth.heavy_tails else moment_checks(draws, truth, labels)
    return [*moments, marginal_check(draws, truth, labels)]


def dispersed_starts(truth: Truth | None, chains: int, seed: int) -> Array | None:
    """Starts (chains, dim) for the chains of a check: exact draws spread over the first coordinate, None without them.

    Chains that begin together can agree on one mode and be wrong together; R-hat sees it only if they begin apart.
    """
    if truth is None or truth.draw is None:
        return None
    pool = truth.draw(np.random.Generator(np.random.SFC64(seed)), 100 * chains)
    ranks = np.linspace(0.01, 0.99, chains) * (len(pool) - 1)
    return np.ascontiguousarray(pool[np.argsort(pool[:, 0])[ranks.astype(int)]])


def acceptance_check(accept_prob: Array, accepted: NDArray[np.bool_], *, exact: bool = True) -> Check:
    """Were as many proposals accepted as their Metropolis probabilities (same shape) ask for?

    exact : False for a sampler that is wrong on purpose; a mistake too small to see is then "unknown", never a pass
    """
    due = float(accept_prob.sum())
    # The 4 keeps a single rare rejection from counting as a surprise where hardly any is expected.
    spread = math.sqrt(float((accept_prob * (1.0 - accept_prob)).sum()) + 4.0)
    z = (float(accepted.sum()) - due) / spread
    verdict: Verdict = "fail" if abs(z) >= Z_LIMIT else "pass" if exact else "unknown"
    sentence = (
        f"{int(accepted.sum()):,} of {accepted.size:,} proposals were accepted, the Metropolis rule wants {due:,.0f}: "
        f"{abs(z):.1f} standard errors apart."
    )
    if verdict == "unknown":
        sentence += " The rule is broken on purpose, but with these settings too little to see."
    return Check("acceptance", verdict, z, Z_LIMIT, sentence, "SE")


def invariance_check(
    target: Target, method: Method, *, points: int = 4000, transitions: int = 20, seed: int = 0
) -> Check:
    """Does the kernel leave the target invariant? Exact draws, each moved `transitions` times, must keep the mean and
    variance of every coordinate, or with heavy tails its shares below five quantiles.

    The starts are independent, so the standard error needs no mixing: this judges a kernel also where its chains crawl.
    Each start's statistic is the average over its transitions.
    """
    name = "invariance"
    truth = target.truth
    if truth is None or truth.draw is None:
        return Check(
            name, "unknown", float("nan"), Z_LIMIT, "No exact draws of this target are available to start from.", "SE"
        )
    start_seed, stream_seed = np.random.SeedSequence(seed).spawn(2)
    starts = truth.draw(np.random.Generator(np.random.SFC64(start_seed)), points)
    features, expected, what = _features(truth, starts, target.labels)
    trace = Trace.empty(1, transitions, target.dim, method.records).at(0)
    nothing = method.transitions(1, 0, target.dim)
    inside = type(nothing)(*(array[0] for array in nothing))
    settings = method.prepare(target)
    rng = np.random.Generator(np.random.SFC64(stream_seed))
    moved = np.empty((points, len(expected)))
    for i, position in enumerate(starts):
        log_density, gradient = target.log_density_and_gradient(position)
        ints, scratch = target.buffers()
        chain = Chain(np.ascontiguousarray(position), gradient, np.array([log_density]), ints, scratch, rng)
        method.advance(target, settings, chain, transitions, trace, inside)
        moved[i] = features(trace.draws)
    with np.errstate(all="ignore"):
        z = (moved.mean(axis=0) - expected) / (moved.std(axis=0, ddof=1) / np.sqrt(points))
    z[~np.isfinite(expected)] = np.nan
    if not np.any(np.isfinite(z)):
        return Check(name, "unknown", float("nan"), Z_LIMIT, "Nothing about this target is finite and moved.", "SE")
    k = int(np.nanargmax(np.abs(z)))
    worst = float(z[k])
    verdict: Verdict = "pass" if abs(worst) < Z_LIMIT else "fail"
    sentence = (
        f"{points:,} exact draws, each moved {transitions} times: {what[k]} is {moved[:, k].mean():.4g} where "
        f"{expected[k]:.4g} is true, {abs(worst):.1f} standard errors off."
    )
    return Check(name, verdict, worst, Z_LIMIT, sentence, "SE")


def _features(
    truth: Truth, starts: Array, labels: tuple[str, ...]
) -> tuple[Callable[[Array], Array], Array, list[str]]:
    """What `invariance_check` follows: a function of draws (n, dim), its expectation, and a name for each entry."""
    if truth.heavy_tails:
        places = np.stack([_quantiles(density, starts[:, j]) for j, density in enumerate(truth.marginals)])
        expected = np.tile(np.asarray(QUANTILES), len(labels))
        names = [f"the share of {labels[j]} below {at:.3g}" for j, row in enumerate(places) for at in row]
        return lambda draws: (draws[:, :, None] < places).mean(axis=0).ravel(), expected, names
    expected = np.concatenate([truth.mean, np.diag(truth.covariance)])
    names = [f"the {what} of {label}" for what in ("mean", "variance") for label in labels]
    return lambda draws: np.concatenate([draws.mean(axis=0), ((draws - truth.mean) ** 2).mean(axis=0)]), expected, names


GRADIENT_LIMIT = 1e-6


def gradient_check(target: Target, points: Array) -> Check:
    """Largest error of the coded gradient at `points` (n, dim) against central differences, relative to the gradient's
    size there.
    """
    worst, where = 0.0, 0
    for i, point in enumerate(points):
        _, gradient = target.log_density_and_gradient(point)
        if not np.all(np.isfinite(gradient)):
            continue
        error = np.max(np.abs(finite_difference(target, point) - gradient)) / max(1.0, float(np.max(np.abs(gradient))))
        if error > worst:
            worst, where = float(error), i
    verdict: Verdict = "pass" if worst < GRADIENT_LIMIT else "fail"
    sentence = f"At {len(points)} points the gradient agrees with finite differences to {worst:.1e}" + (
        "." if verdict == "pass" else f", not at {np.round(points[where], 3)}."
    )
    return Check("gradient", verdict, worst, GRADIENT_LIMIT, sentence, "relative error")


def finite_difference(target: Target, point: Array) -> Array:
    """Gradient at `point` (dim,) by central differences with Richardson's correction, error of order h**4."""
    slope = np.empty(target.dim)
    for j in range(target.dim):
        h = 1e-3 * max(1.0, abs(float(point[j])))

        slope[j] = (4 * _central(target, point, j, h / 2) - _central(target, point, j, h)) / 3
    return slope


def _central(target: Target, point: Array, j: int, step: float) -> float:
    up, down = point.copy(), point.copy()
    up[j] += step
    down[j] -= step
    return (target.log_density(up) - target.log_density(down)) / (2 * step)


REVERSIBILITY_LIMIT = 1e-6


def reversibility_check(
    target: Target,
    positions: Array,
    momenta: Array,
    *,
    step_size: float,
    steps: int,
    mass: ArrayLike = 1.0,
    integrator: str = "leapfrog",
) -> Check:
    """Integrate there, flip the momentum, integrate back: how far from the start do the paths end?

    positions, momenta : (n, dim). Distances are relative to the size of the path. Divergent paths are left out: they
        blow rounding errors up
    without bound, and are rejected anyway. Chaos multiplies rounding errors too, so long paths in sharp targets may
    fail honestly.
    """
    worst, judged = 0.0, 0
    for q, p in zip(positions, momenta, strict=True):
        there = trajectory(target, q, p, step_size=step_size, steps=steps, mass=mass, integrator=integrator)
        if not np.max(there.energy) - there.energy[0] <= DIVERGENCE:
            continue
        judged += 1
        back = trajectory(
            target,
            there.position[-1],
            -there.momentum[-1],
            step_size=step_size,
            steps=steps,
            mass=mass,
            integrator=integrator,
        )
        if not np.all(np.isfinite(back.position)):
            worst = np.inf
            continue
        size = max(1.0, float(np.max(np.abs(there.position))))
        worst = max(worst, float(np.max(np.abs(back.position[-1] - q))) / size)
    if not judged:
        return Check(
            "reversibility",
            "unknown",
            float("nan"),
            REVERSIBILITY_LIMIT,
            "Every path tried is divergent.",
            "relative distance",
        )
    verdict: Verdict = "pass" if worst < REVERSIBILITY_LIMIT else "fail"
    sentence = (
        f"{judged} path{'s' * (judged > 1)} of {steps} steps, run there and back, "
        f"came home within {worst:.1e} of the path's size."
    )
    return Check("reversibility", verdict, worst, REVERSIBILITY_LIMIT, sentence, "relative distance")
