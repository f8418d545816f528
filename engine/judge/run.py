"""May the averages of this run be believed? What chains say of themselves and of each other.

None of it says that a sampler is right: chains can agree on a wrong answer. Where they disagree the verdict is "not
converged", not "wrong".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.diagnostics import ebfmi, summarise
from engine.judge.check import Bars, Check, Verdict
from engine.judge.numbers import MAX_RHAT, MIN_ESS
from engine.judge.plant import STUCK, is_planted
from engine.recording import Recording
from engine.samplers import sample
from engine.targets.target import Target, Truth

Array = NDArray[np.float64]

APART = 1.05  # R-hat above this is no accident of a short run: the chains have not seen the same
FEW_DIVERGENT, MANY_DIVERGENT = 0.001, 0.01  # shares of transitions
LOW_ENERGY, NO_ENERGY = 0.3, 0.1  # E-BFMI below which the momentum draws hardly change the energy
SHORT_TREES = 0.02  # share of transitions that were cut off at the depth limit
FEW_TRIPS = 10  # from the smaller sizes to the larger ones and back, all chains together


def agreement_check(values: Array, names: Sequence[str], what: str = "chains agree", apart: float = APART) -> Check:
    """Rank-normalised split R-hat and effective draws (bulk, tail) of what is watched, values (chains, draws, q).

    Not converged above R-hat `apart`; between that and `MAX_RHAT`, or with fewer than `MIN_ESS` effective draws, the
    run is too short to tell; one chain can never tell. Draws so few that chance alone takes R-hat beyond `APART` need a
    larger `apart`.
    """
    chains, draws, _ = values.shape
    if is_planted(STUCK):
        values = values.copy()
        values[0, draws // 4 :] = values[0].max(axis=0)
    moved = [j for j in range(values.shape[2]) if np.ptp(values[:, :, j]) > 0.0]
    if not moved or draws < 8:
        words = "Nothing that is watched has changed yet, so the run says nothing of itself."
        return Check(what, "unknown", math.nan, MAX_RHAT, words, "R-hat", kind="run")
    if not np.all(np.isfinite(values)):
        words = "Some draws are not finite numbers: this run has broken down."
        return Check(what, "fail", math.inf, MAX_RHAT, words, "R-hat", kind="run")
    found = summarise(values[:, :, moved])
    ess = np.fmin(found.ess_bulk, found.ess_tail)
    rhat = np.where(np.isfinite(found.rhat), found.rhat, math.inf)
    worst, least = int(np.argmax(rhat)), int(np.nanargmin(np.where(np.isfinite(ess), ess, 0.0)))
    largest, fewest = float(rhat[worst]), float(ess[least]) if np.isfinite(ess[least]) else 0.0
    kept = tuple(names[j] for j in moved)
    sentence = (
        f"{chains} chain{'s' * (chains > 1)} of {draws:,} draws: R-hat is at most {largest:.3f} ({kept[worst]}), "
        f"effective draws at least {fewest:,.0f} ({kept[least]})."
    )
    verdict: Verdict = "unknown"
    if largest > apart:
        verdict = "fail"
        sentence += " The chains disagree: this run has not seen all of it. Its averages are not to be believed."
    elif largest > APART:
        sentence += " So few draws can differ so much by chance: only gross disagreement would show, and these are too few."
    elif chains == 1:
        sentence += " One chain cannot disagree with itself: start more, far apart."
    elif largest > MAX_RHAT or fewest < MIN_ESS:
        sentence += f" R-hat {MAX_RHAT} at most and {MIN_ESS:.0f} effective draws are asked for: run longer."
    else:
        verdict = "pass"
    figure = Bars("R-hat of each quantity", "R-hat", kept, rhat, MAX_RHAT)
    return Check(what, verdict, largest, MAX_RHAT, sentence, "R-hat", kind="run", figure=figure)


def divergence_check(divergent: NDArray[np.bool_]) -> Check:
    """Share of transitions whose energy error was too large: the paths break where the target is sharpest, so that
    region is seen too seldom.
    """
    share = float(divergent.mean())
    verdict: Verdict = "pass" if share <= FEW_DIVERGENT else "fail" if share > MANY_DIVERGENT else "unknown"
    sentence = f"{int(divergent.sum()):,} of {divergent.size:,} transitions diverged ({share:.2%})."
    if verdict != "pass":
        sentence += " The step size does not fit everywhere, so the chains shun a region. Smaller steps would help."
    return Check("divergences", verdict, share, MANY_DIVERGENT, sentence, "of transitions", kind="run")


def energy_check(energy: Array) -> Check:
    """E-BFMI of each chain (Betancourt 2016), energy (chains, draws): below `LOW_ENERGY` the chain crosses the levels
    of the target too slowly.
    """
    found = ebfmi(energy)
    least = float(np.nanmin(found)) if np.any(np.isfinite(found)) else math.nan
    verdict: Verdict = "pass" if least >= LOW_ENERGY else "fail" if least < NO_ENERGY else "unknown"
    sentence = f"The energy changes from draw to draw by {least:.2f} of its variance (E-BFMI), in the worst chain."
    if verdict != "pass":
        sentence += " That is little: the target has heavy tails or a funnel, and the chain climbs it slowly."
    return Check("energy", verdict, least, LOW_ENERGY, sentence, "E-BFMI", kind="run")


def depth_check(saturated: NDArray[np.bool_]) -> Check:
    """Share of transitions that were cut off at the largest depth, `saturated` (chains, draws): no bias, but slow."""
    share = float(saturated.mean())
    verdict: Verdict = "pass" if share <= SHORT_TREES else "unknown"
    sentence = f"{int(saturated.sum()):,} of {saturated.size:,} trajectories were cut off at the largest depth."
    return Check("depth", verdict, share, SHORT_TREES, sentence, "of transitions", kind="run")


def modes_check(draws: Array, truth: Truth, modes: Array) -> Check:
    """Has each of the known `modes` (m, dim) been seen by every chain of draws (chains, draws, dim)? A draw belongs to
    the nearest, distances in units of the true standard deviations.
    """
    sd = np.sqrt(np.diag(truth.covariance))
    scale = np.where(np.isfinite(sd) & (sd > 0), sd, 1.0)
    off = ((draws[:, :, None, :] - modes) / scale) ** 2
    nearest = off.sum(axis=3).argmin(axis=2)
    seen = np.array([[np.any(chain == m) for m in range(len(modes))] for chain in nearest])
    missed = int((~seen).sum())
    sentence = f"{len(modes)} modes are known; the {len(draws)} chains have seen {seen.sum(axis=1).min()} or more each."
    verdict: Verdict = "pass" if missed == 0 else "fail"
    if missed:
        sentence += " A chain that has not been everywhere does not know how much is there."
    return Check("modes", verdict, float(missed), 0.0, sentence, "missed", kind="run")


def trips_check(sizes: NDArray[Any], name: str) -> Check:
    """Round trips of all chains between the lower and the upper half of the sizes that they drew, (chains, draws)."""
    low, high = np.quantile(sizes, [0.25, 0.75])
    if low == high:  # one size has more than half of the draws: ways between it and the side that has more of the rest
        below, above = np.sum(sizes < low), np.sum(sizes > low)
        low, high = (low - 1, low) if below >= above and below else (low, low + 1) if above else (low, high)
    if low == high:
        words = f"Only one {name} was ever drawn, so there is no way to go."
        return Check("round trips", "unknown", math.nan, FEW_TRIPS, words, "trips", kind="run")
    trips = 0
    for chain in sizes:
        side = np.where(chain <= low, -1, np.where(chain >= high, 1, 0))
        side = side[side != 0]
        trips += int(np.sum(side[1:] != side[:-1])) // 2
    verdict: Verdict = "pass" if trips >= FEW_TRIPS else "unknown"
    sentence = f"All chains together went {trips:,} times from {name} ≤ {low:g} to {name} ≥ {high:g} and back."
    if verdict != "pass":
        sentence += f" That is too seldom to know the share of each {name}: run longer."
    return Check("round trips", verdict, float(trips), FEW_TRIPS, sentence, "trips", kind="run")


def dispersed_starts(truth: Truth | None, chains: int, seed: int) -> Array | None:
    """Starts (chains, dim) for chains that will be judged: exact draws spread over the first coordinate, None without
    them.

    Chains that begin together can agree on one mode and be wrong together; R-hat sees it only if they begin apart.
    Where nobody has said along which coordinate modes lie apart (a formula), each start is the draw that is farthest
    from those before it, by its ranks in both coordinates.
    """
    if truth is None or truth.draw is None:
        return None
    pool = truth.draw(np.random.Generator(np.random.SFC64(seed)), 100 * chains)
    if truth.source == "quadrature" and pool.shape[1] == 2:
        return np.ascontiguousarray(pool[_far_apart(pool, chains)])
    ranks = np.linspace(0.01, 0.99, chains) * (len(pool) - 1)
    return np.ascontiguousarray(pool[np.argsort(pool[:, 0])[ranks.astype(int)]])


def sampled_apart(target: Target, method: str, init: Any, *, chains: int, seed: int, **settings: Any) -> Recording:
    """`engine.sample` from `dispersed_starts`; from `init` where there are none.

    settings : draws, warm-up, and those of the method
    """
    starts = dispersed_starts(target.truth, chains, seed)
    return sample(target, method, chains=chains, seed=seed, init=init if starts is None else starts, **settings)


def _far_apart(points: Array, n: int) -> list[int]:
    """Numbers of n of the points (m, dim), each the farthest from those before it in ranks, the first a central one."""
    ranks = points.argsort(axis=0).argsort(axis=0) / len(points)
    chosen = [int(np.argmin(np.abs(ranks - 0.5).max(axis=1)))]
    nearest = np.full(len(points), math.inf)
    for _ in range(n - 1):
        nearest = np.minimum(nearest, np.abs(ranks - ranks[chosen[-1]]).max(axis=1))
        chosen.append(int(np.argmax(nearest)))
    return chosen
