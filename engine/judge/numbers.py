"""How far averages are from the exact answer, in Monte Carlo standard errors; gradients and paths to rounding error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.diagnostics import Z_LIMIT as Z_LIMIT  # of one normal error, what ALONE is of a p-value
from engine.diagnostics import ess_mean, rhat
from engine.judge.check import Bars, Check, Verdict
from engine.judge.looks import surprise
from engine.judge.plant import SHIFTED, is_planted
from engine.samplers.hmc import DIVERGENCE, trajectory
from engine.targets.target import Target, Truth

Array = NDArray[np.float64]

ALONE = 1e-5  # p-value below which one look, with no second one after it, fails
MIN_ESS = 400.0  # below this a standard error is itself too uncertain to judge by
MAX_RHAT = 1.01  # above this the chains disagree, and no error bar from them means anything
RHAT_DRAWS = 10_000  # of each chain, or up to twice as many, show whether chains disagree; ranks of more take seconds
OFF = 10.0  # standard errors by which averages are off where that is planted
BATCHES = 20  # of each chain, by which the correlation of errors is estimated
QUANTILES = (0.02, 0.25, 0.5, 0.75, 0.98)


class Average(NamedTuple):
    """An average with its exact value.

    what : in words, "the mean of x"
    values : (chains, draws)
    true : the exact mean of a value
    sd : exact standard deviation of one value where it is known, else None
    at_most : effective draws that may count
    error : standard error of `true`, where that is an estimate itself
    """

    what: str
    values: Array
    true: float
    sd: float | None = None
    at_most: float = math.inf
    error: float = 0.0


def averages_check(name: str, averages: Sequence[Average], *, level: float = ALONE) -> Check:
    """Compare averages with their exact values, all at once: it fails where the worst of them is further off than the
    worst of as many right ones is with probability `level`.

    It cannot tell where chains disagree or effective draws are too few, in any of them that can be judged at all.
    """

    def unknown(reason: str) -> Check:
        return Check(name, "unknown", math.nan, math.nan, reason, "MCSE")

    judged = [a for a in averages if np.isfinite(a.true) and np.ptp(a.values) > 0.0]
    if not judged:
        return unknown("Nothing can be judged: every draw gives the same value, or the exact value is not finite.")
    z, told = np.empty(len(judged)), []
    for j, (what, values, true, sd, at_most, error) in ticket.looking(enumerate(judged)):
        disagreement = rhat(values[:, :: max(1, values.shape[1] // RHAT_DRAWS)])
        if not disagreement <= MAX_RHAT:
            return unknown(
                f"{_capital(what)} cannot be judged: the chains disagree (R-hat {disagreement:.3g}), so their error "
                "bar means nothing. The settings mix too slowly."
            )
        effective = min(ess_mean(values), at_most)
        if not effective >= MIN_ESS:
            return unknown(f"{_capital(what)} cannot be judged: only {effective:.0f} effective draws, at least {MIN_ESS:.0f} are needed.")
        spread = (float(values.std()) if sd is None else sd) / math.sqrt(effective)
        z[j] = (float(values.mean()) - true) / math.hypot(spread, error)
        z[j] += OFF if is_planted(SHIFTED) else 0.0
        told.append(effective)
    exact = not any(a.error for a in judged)  # the errors of estimates have correlations of their own, not known here
    found = surprise(z, _correlation([a.values for a in judged]) if exact else None)
    what, values, true = judged[found.place][:3]
    verdict: Verdict = "pass" if found.p >= level else "fail"
    sentence = (
        f"{_capital(what)} is {values.mean():.4g}, true {true:.4g}: off by {abs(found.z):.1f} Monte Carlo standard "
        f"errors ({told[found.place]:,.0f} effective draws)"
    )
    many = f", the worst of {len(judged)}" if len(judged) > 1 else ""
    sentence += f"{many}. A right run is further off with probability {found.p:.2g}."
    figure = Bars("Error of each average", "error, in standard errors", tuple(a.what for a in judged), z, math.nan)
    return Check(name, verdict, found.z, _limit(level, len(judged)), sentence, "MCSE", p=found.p, figure=figure)


def _capital(what: str) -> str:
    return what[0].upper() + what[1:]


def _limit(level: float, count: int) -> float:
    """|z| beyond which the worst of `count` errors has a probability below `level`, by Bonferroni's bound."""
    from scipy.stats import norm

    return float(norm.isf(0.5 * level / count))


def _correlation(values: list[Array]) -> Array:
    """Of the errors of averages, from the means of batches of each chain: (q, q)."""
    rows = []
    for each in ticket.looking(values):
        chains, draws = each.shape
        size = max(1, draws // BATCHES)
        batches = each[:, : size * (draws // size)].reshape(chains, -1, size).mean(axis=2)
        rows.append((batches - batches.mean()).ravel())
    with np.errstate(all="ignore"):
        found = np.atleast_2d(np.corrcoef(np.stack(rows)))
    found = np.where(np.isfinite(found), found, 0.0)
    np.fill_diagonal(found, 1.0)
    return found


def mean_check(
    name: str, what: str, values: Array, true: float, *, sd: float | None = None, at_most: float = math.inf, level: float = ALONE
) -> Check:
    """`averages_check` of one average."""
    return averages_check(name, [Average(what, values, true, sd, at_most)], level=level)


def family(checks: Sequence[Check], *, level: float = ALONE) -> Check:
    """One check of several that were each looked at: the p-value of the worst is multiplied by how many there were. An
    open one leaves the family open, if none fails.
    """
    told = [check for check in checks if not math.isnan(check.p)]
    if not told:
        return checks[0]
    worst = min(told, key=lambda check: check.p)
    p = min(1.0, len(told) * worst.p)
    if p < level:
        return dataclasses.replace(worst, verdict="fail", p=p)
    waiting = next((check for check in checks if check.verdict == "unknown"), None)
    return waiting if waiting is not None else dataclasses.replace(worst, verdict="pass", p=p)


def truth_check(draws: Array, truth: Truth, labels: tuple[str, ...], *, level: float = ALONE) -> Check:
    """`draws` (chains, draws, dim) against all that the truth can judge: shares of every marginal below five exact
    quantiles, and, where no average hangs on a few extreme draws, means, variances and covariances.

    Shares have finite variance whatever the tails. In more than 12 dimensions the covariances are those of neighbours.
    """
    moments = [] if truth.heavy_tails else _moments(draws, truth, labels)
    return averages_check("exact answer", [*moments, *_quantile_shares(draws, truth, labels)], level=level)


def _moments(draws: Array, truth: Truth, labels: tuple[str, ...]) -> list[Average]:
    dim = draws.shape[2]
    centred = draws - truth.mean
    found = [Average(f"the mean of {labels[i]}", draws[:, :, i], float(truth.mean[i])) for i in range(dim)]
    for i in ticket.looking(range(dim)):
        found.append(Average(f"the variance of {labels[i]}", centred[:, :, i] ** 2, float(truth.covariance[i, i])))
        for j in range(i + 1, dim):
            if dim <= 12 or j == i + 1:
                what = f"the covariance of {labels[i]} and {labels[j]}"
                found.append(Average(what, centred[:, :, i] * centred[:, :, j], float(truth.covariance[i, j])))
    return found


def _quantile_shares(draws: Array, truth: Truth, labels: tuple[str, ...]) -> list[Average]:
    places = [quantiles_of(density, draws[:, :, j]) for j, density in enumerate(ticket.looking(truth.marginals))]
    known = [j for j, at in enumerate(places) if np.all(np.isfinite(at))]
    # A tail seldom visited seems to mix better than it does: no share counts more effective draws than the slowest of
    # the middle ones.
    halves = [(draws[:, :, j] < places[j][len(QUANTILES) // 2]).astype(np.float64) for j in known]
    slowest = min((ess_mean(half) for half in halves if np.ptp(half) > 0.0), default=math.inf)
    found = []
    for j in ticket.looking(known):
        for share, place in zip(QUANTILES, places[j], strict=True):
            below = (draws[:, :, j] < place).astype(np.float64)
            what = f"the share of {labels[j]} below {place:.3g}"
            found.append(Average(what, below, share, math.sqrt(share * (1.0 - share)), slowest))
    return found


def quantiles_of(density: Callable[[Array], Array], seen: Array) -> Array:
    """The `QUANTILES` of a density, NaN where it cannot be integrated here; the same array for the same density.

    By Simpson's rule on a grid that is widened until its ends hold nothing, then refined where that changes anything.
    seen : draws, by which the grid is placed at first.
    """
    found = _quantiles.get(density)
    if found is None:
        found = _quantiles[density] = _integrated(density, seen)
    return found


_quantiles: WeakKeyDictionary[Callable[[Array], Array], Array] = WeakKeyDictionary()
COARSE = 401  # points of the first grid
MOST_MASS, MOST_ERROR = 2e-3, 1e-7  # of one cell of the last grid
ROUNDS, CELLS = 110, 200_000  # of refining
WHOLE = 1e-4  # a mass further from 1 is no integral


def _integrated(density: Callable[[Array], Array], seen: Array) -> Array:
    def f(x: Array) -> Array:
        values = density(x)
        return np.where(np.isfinite(values), values, 0.0)

    centre, scale = float(np.median(seen)), max(float(np.subtract(*np.quantile(seen, [0.75, 0.25]))), 1e-6)
    reach = 4.0  # in units of `scale`
    for _ in range(60):
        edge = np.arcsinh(reach)
        x = centre + scale * np.sinh(np.linspace(-edge, edge, COARSE))  # dense in the middle, wide in the tails
        values = f(x)
        if max(values[0], values[-1]) * reach * scale < 1e-6:
            break
        reach *= 2.0
    low, high, at_low, at_high = x[:-1], x[1:], values[:-1], values[1:]
    ends: list[Array] = []
    masses: list[Array] = []
    for _ in range(ROUNDS):
        middle, width = 0.5 * (low + high), high - low
        at_middle = f(middle)
        mass = width * (at_low + 4.0 * at_middle + at_high) / 6.0
        fine = (np.abs(mass - 0.5 * width * (at_low + at_high)) < MOST_ERROR) & (mass < MOST_MASS)
        fine |= (middle <= low) | (middle >= high)
        half = width * (5.0 * at_low + 8.0 * at_middle - at_high) / 24.0
        ends += [middle[fine], high[fine]]
        masses += [half[fine], (mass - half)[fine]]
        rest = ~fine
        if not rest.any() or rest.sum() > CELLS:
            break
        low, middle, high = low[rest], middle[rest], high[rest]
        at_low, at_middle, at_high = at_low[rest], at_middle[rest], at_high[rest]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low, at_high = np.concatenate([at_low, at_middle]), np.concatenate([at_middle, at_high])
    order = np.argsort(places := np.concatenate(ends))
    mass = np.cumsum(np.concatenate(masses)[order])
    if not abs(mass[-1] - 1.0) < WHOLE:
        return np.full(len(QUANTILES), np.nan)
    return np.asarray(np.interp(np.asarray(QUANTILES) * mass[-1], mass, places[order]))


GRADIENT_LIMIT = 1e-6
SHORTER = 2e-4  # step of the second differences, of a coordinate's size


def gradient_check(target: Target, points: Array) -> Check:
    """Largest error of the coded gradient at `points` (n, dim) against central differences, relative to the gradient's
    size there.

    Where differences over a short and a shorter stretch disagree there is a kink between (a ReLU's): no slope to judge.
    """
    worst, where, judged = 0.0, 0, 0
    for i, point in enumerate(points):
        _, gradient = target.log_density_and_gradient(point)
        if not np.all(np.isfinite(gradient)):
            continue
        size = max(1.0, float(np.max(np.abs(gradient))))
        slope = finite_difference(target, point)
        smooth = np.abs(slope - finite_difference(target, point, SHORTER)) < 0.5 * GRADIENT_LIMIT * size
        judged += int(smooth.sum())
        error = float(np.max(np.abs(slope - gradient)[smooth], initial=0.0)) / size
        if error > worst:
            worst, where = error, i
    if not judged:
        words = "The log density is not smooth at any of the points tried, so no difference tells its slope."
        return Check("gradient", "unknown", math.nan, GRADIENT_LIMIT, words, "relative error", kind="kernel")
    verdict: Verdict = "pass" if worst < GRADIENT_LIMIT else "fail"
    sentence = f"At {len(points)} points the gradient agrees with finite differences to {worst:.1e}" + (
        "." if verdict == "pass" else f", not at {np.round(points[where], 3)}."
    )
    return Check("gradient", verdict, worst, GRADIENT_LIMIT, sentence, "relative error", kind="kernel")


def finite_difference(target: Target, point: Array, step: float = 1e-3) -> Array:
    """Gradient at `point` (dim,) by central differences with Richardson's correction, error of order h**4."""
    slope = np.empty(target.dim)
    for j in range(target.dim):
        h = step * max(1.0, abs(float(point[j])))
        slope[j] = (4 * _central(target, point, j, h / 2) - _central(target, point, j, h)) / 3
    return slope


def _central(target: Target, point: Array, j: int, step: float) -> float:
    up, down = point.copy(), point.copy()
    up[j] += step
    down[j] -= step
    return (target.log_density(up) - target.log_density(down)) / (2 * step)


REVERSIBILITY_LIMIT = 1e-6


def reversibility_check(
    target: Target, positions: Array, momenta: Array, *, step_size: float, steps: int, mass: ArrayLike = 1.0, integrator: str = "leapfrog"
) -> Check:
    """Integrate there, flip the momentum, integrate back: how far from the start do the paths end?

    positions, momenta : (n, dim). Distances are relative to the size of the path. Divergent paths are left out: they
        blow rounding errors up without bound, and are rejected anyway. Chaos multiplies rounding errors too, so long
        paths in sharp targets may fail honestly.
    """
    name, unit = "reversibility", "relative distance"
    worst, judged = 0.0, 0
    settings = {"step_size": step_size, "steps": steps, "mass": mass, "integrator": integrator}
    for q, p in zip(positions, momenta, strict=True):
        there = trajectory(target, q, p, **settings)  # type: ignore[arg-type]
        if not np.max(there.energy) - there.energy[0] <= DIVERGENCE:
            continue
        judged += 1
        back = trajectory(target, there.position[-1], -there.momentum[-1], **settings)  # type: ignore[arg-type]
        if not np.all(np.isfinite(back.position)):
            worst = np.inf
            continue
        size = max(1.0, float(np.max(np.abs(there.position))))
        worst = max(worst, float(np.max(np.abs(back.position[-1] - q))) / size)
    if not judged:
        words = "Every path tried is divergent."
        return Check(name, "unknown", math.nan, REVERSIBILITY_LIMIT, words, unit, kind="kernel")
    verdict: Verdict = "pass" if worst < REVERSIBILITY_LIMIT else "fail"
    sentence = f"{judged} path{'s' * (judged > 1)} of {steps} steps, run there and back, came home within {worst:.1e} of the path's size."
    return Check(name, verdict, worst, REVERSIBILITY_LIMIT, sentence, unit, kind="kernel")


def acceptance_check(accept_prob: Array, accepted: NDArray[np.bool_], *, exact: bool = True) -> Check:
    """Were as many proposals accepted as their Metropolis probabilities (same shape) ask for?

    exact : False for a sampler that is wrong on purpose; a mistake too small to see is then "unknown", never a pass
    """
    due = float(accept_prob.sum())
    # The 4 keeps a single rare rejection from counting as a surprise where hardly any is expected.
    spread = math.sqrt(float((accept_prob * (1.0 - accept_prob)).sum()) + 4.0)
    z = (float(accepted.sum()) - due) / spread
    p = surprise(np.array([z])).p
    verdict: Verdict = "fail" if p < ALONE else "pass" if exact else "unknown"
    sentence = (
        f"{int(accepted.sum()):,} of {accepted.size:,} proposals were accepted, the Metropolis rule wants {due:,.0f}: "
        f"{abs(z):.1f} standard errors apart."
    )
    if verdict == "unknown":
        sentence += " The rule is broken on purpose, but with these settings too little to see."
    return Check("acceptance", verdict, z, _limit(ALONE, 1), sentence, "SE", kind="kernel", p=p)
