"""Diagnostics of draws, through arviz-stats: rank-normalised split R-hat, bulk and tail ESS, MCSE, E-BFMI.

Source: Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021. arviz-stats is imported on first use: it takes half a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.array_stats import array_stats
from engine.kernels import kernel
from engine.recording import Recording

Array = NDArray[np.float64]

Z_LIMIT = 4.417  # standard errors, beyond which a normal error lies once in 100,000 times
BLOCK = 4_000  # values that one core takes at once: a ms or two between two looks; larger blocks are no quicker


@dataclass(frozen=True, eq=False)
class Summary:
    """Diagnostics per quantity, each (dim,). NaN where a quantity did not vary or the draws are too few.

    rhat : rank-normalised split R-hat; with one chain, of its halves
    ess_bulk, ess_tail : effective draws, all chains together
    mean, sd : of the pooled draws
    mcse_mean : Monte Carlo standard error of the mean
    """

    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    mean: Array
    sd: Array
    mcse_mean: Array


@dataclass(frozen=True)
class Cost:
    """What a run cost: gradient evaluations in all, seconds, and the least effective draws per unit of each."""

    gradient_evaluations: int
    seconds: float
    min_ess: float
    ess_per_second: float
    ess_per_gradient: float


def summarise(draws: Array) -> Summary:
    """Diagnostics of `draws` (chains, draws, dim)."""
    chains, n, dim = draws.shape
    nothing = np.full(dim, np.nan)
    if n < 8:
        return Summary(nothing, nothing, nothing, draws.mean(axis=(0, 1)), draws.std(axis=(0, 1)), nothing)
    axes, block = {"chain_axis": 0, "draw_axis": 1}, max(1, BLOCK // (chains * n))

    def of_some(first: int) -> Array:
        some = draws[:, :, first : first + block]
        with np.errstate(all="ignore"):
            stats = _stats()
            rhat, bulk = _rank_rhat(some, stats, **axes), stats.ess(some, **axes)
            return np.array([rhat, bulk, stats.ess(some, method="tail", prob=(0.05, 0.95), **axes), stats.mcse(some, **axes)])

    blocks = range(0, max(dim, 1), block)
    # of few draws most steps hold Python's own lock: a second core would make it slower
    found = ticket.each(of_some, blocks) if chains * n > BLOCK else [of_some(first) for first in blocks]
    rhat, ess_bulk, ess_tail, mcse_mean = np.concatenate(found, axis=1)
    with np.errstate(all="ignore"):
        return Summary(rhat, ess_bulk, ess_tail, draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1), mcse_mean)


def ess_mean(values: Array) -> float:
    """Effective draws for the mean of `values` (chains, draws)."""
    with np.errstate(all="ignore"):
        return float(_stats().ess(values, method="mean", chain_axis=0, draw_axis=1))


def least_ess(draws: Array) -> float:
    """The least effective sample size of any coordinate or its square, of (chains, draws, dim); 0 when a
    coordinate never moved."""
    centred = draws - draws.mean(axis=(0, 1))
    values = [f[:, :, j] for f in (centred, centred**2) for j in range(draws.shape[2])]
    if any(np.ptp(v) == 0.0 for v in values):
        return 0.0
    ess = [ess_mean(v) for v in values]
    return float(min(ess)) if np.all(np.isfinite(ess)) else 0.0


def rhat(values: Array) -> float:
    """Rank-normalised split R-hat of `values` (chains, draws)."""
    with np.errstate(all="ignore"):
        return float(_rank_rhat(values, _stats(), chain_axis=0, draw_axis=1))


def jackknife(estimate: Callable[[NDArray[np.int64]], float], chains: int) -> tuple[float, float]:
    """What `estimate` says of all independent chains (it takes their numbers), and its standard error from leaving out
    one chain at a time.
    """
    every = np.arange(chains)
    each = np.array([estimate(every[every != c]) for c in range(chains)])
    return estimate(every), float(np.sqrt((chains - 1) * each.var()))


def split_rhat(values: Array) -> Array:
    """R-hat of the halves of chains, (chains, n, q) → (q,): sqrt(((m − 1)/m W + B/m) / W) with m draws a half, W the
    mean variance of the halves, B/m the variance of their means. Source: Gelman et al. 2013, section 11.4."""
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, half : 2 * half]])
    within, between = halves.var(axis=1, ddof=1).mean(axis=0), halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(all="ignore"):
        return np.sqrt((half - 1) / half + between / within)


def autocorrelation(values: Array, lags: int, *, pooled: bool = False) -> Array:
    """Correlation of each chain (chains, draws) with itself `0..lags` draws later, (chains, lags + 1); NaN for a chain
    that never moved. pooled : of all chains about their common mean, (lags + 1,).

    By the fast Fourier transform, padded so that the ends do not meet.
    """
    n = values.shape[1]
    centre = values.mean() if pooled else values.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(values - centre, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, : lags + 1]
    if pooled:
        covariance = covariance.mean(axis=0, keepdims=True)
    with np.errstate(all="ignore"):
        found = np.where(covariance[:, :1] > 1e-12 * n, covariance / covariance[:, :1], np.nan)
    return np.asarray(found[0] if pooled else found)


def _rank_rhat(draws: Array, stats: Any, **axes: int) -> Array:
    """The worse R-hat, of the folded ranks and of the ranks, which `stats` still has afterwards."""
    draws = _at_least_two(draws)
    folded, bulk = (stats.rhat(draws, method=method, **axes) for method in ("folded", "z_scale"))
    return np.where(folded > bulk, folded, bulk)


def _at_least_two(draws: Array) -> Array:
    """A single chain as its two halves: R-hat compares chains, and arviz-stats gives NaN for one."""
    half = draws.shape[1] // 2
    return draws if len(draws) > 1 or half < 4 else np.concatenate([draws[:, :half], draws[:, half : 2 * half]])


def ebfmi(energy: Array) -> Array:
    """Estimated Bayesian fraction of missing information of each chain, (chains,), from `energy` (chains, draws).

    The mean squared change of the energy from draw to draw over its variance. Below 0.3 the momentum draws change the
    energy too little to
    explore its distribution: think of heavy tails and of funnels. Source: Betancourt 2016.
    """
    with np.errstate(all="ignore"):
        return np.atleast_1d(_stats().bfmi(energy, chain_axis=0, draw_axis=1))


def cost(recording: Recording, summary: Summary | None = None) -> Cost:
    """The cost of a recording, warm-up included, against its least bulk ESS."""
    summary = summary or summarise(recording.draws)
    evaluations = int(recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum())
    least = float(np.nanmin(summary.ess_bulk)) if np.any(np.isfinite(summary.ess_bulk)) else float("nan")
    return Cost(evaluations, recording.seconds, least, least / max(recording.seconds, 1e-9), least / max(evaluations, 1))


def _stats() -> Any:
    ticket.look()  # whoever asks for many of them gives way between two
    return _looking_stats()()


@cache
def _looking_stats() -> type[Any]:
    """The functions of arviz-stats on arrays, with a look before each of their steps that takes long: before each ranking
    of all draws and each transform of all chains. Of slow chains most of their time went on sums lag by lag in Python;
    these are compiled here, the numbers are the same.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    class Looking(type(array_stats())):  # type: ignore[misc]
        _ranked: tuple[Any, Any] | None = None

        def _z_scale(self, ary: Any) -> Any:  # for R-hat and for the bulk ESS the same
            if self._ranked is None or not np.array_equal(self._ranked[0], ary):
                ticket.look()
                ranks = rankdata(ary, method="average", nan_policy="omit")
                self._ranked = ary, ndtri(self._backtransform_ranks(ranks)).reshape(ary.shape)
            return self._ranked[1]

        def _ess(self, ary: Any, relative: bool = False) -> Any:
            ary = np.asarray(ary, dtype=np.float64)
            if np.ptp(ary) < np.finfo(np.float64).resolution:
                return ary.size
            ticket.look()
            between = float(np.var(ary.mean(axis=1), ddof=1)) if len(ary) > 1 else 0.0
            rho, last = monotone_autocorrelation(self.autocov(ary, axis=1).mean(axis=0), between)
            tau = -1.0 + 2.0 * rho[: last + 1].sum() + rho[last + 1]
            return np.nan if np.isnan(rho).any() else (1 if relative else ary.size) / max(tau, 1.0 / np.log10(ary.size))

    return Looking


@kernel
def monotone_autocorrelation(covariance, between):
    """Geyer’s initial monotone positive sequence (n,), zero beyond it, and its last lag but one; of autocovariances (n,), means
    over chains, and the variance of the chains’ means.

    In the steps and with the roundings of arviz-stats. Source: Vehtari et al. 2021, section 3.2.
    """
    n = covariance.size
    within = covariance[0] * n / (n - 1.0)
    pooled = within * (n - 1.0) / n + between
    rho = np.zeros(n)
    even, odd = 1.0, 1.0 - (within - covariance[1]) / pooled
    rho[0], rho[1] = even, odd
    lag = 1
    while lag < n - 3 and even + odd > 0.0:
        even = 1.0 - (within - covariance[lag + 1]) / pooled
        odd = 1.0 - (within - covariance[lag + 2]) / pooled
        if even + odd >= 0.0:
            rho[lag + 1], rho[lag + 2] = even, odd
        lag += 2
    last = lag - 2
    if even > 0.0:
        rho[last + 1] = even
    for lag in range(1, last - 1, 2):
        if rho[lag + 1] + rho[lag + 2] > rho[lag - 1] + rho[lag]:
            rho[lag + 1] = rho[lag + 2] = (rho[lag - 1] + rho[lag]) / 2.0
    return rho, last


@dataclass(frozen=True, eq=False)
class RankCurves:
    """How the ranks of each chain among all draws spread: places (p,) from 0 to 1; difference (chains, p), share of a
    chain's ranks at or below each place, minus the place; low, high (p,), the band that holds the curves of all chains
    that agree, over all places at once, 19 times of 20.
    """

    places: Array
    difference: Array
    low: Array
    high: Array


BAND_DRAWS = 400  # independent draws of a chain that a band is simulated with at most; it is scaled to the rest
BAND_RUNS = 1_000


def rank_curves(values: Array, points: int = 60) -> RankCurves:
    """Of values (chains, draws). The band is that of as many independent draws as a chain by itself is worth: a band of
    the ESS of all would grow wide just where chains disagree.

    Source: Säilynoja, Bürkner and Vehtari 2022, whose band for several chains is simulated here from permutations.
    """
    chains, n = values.shape
    places = np.arange(1, points) / points
    ranks = (values.ravel().argsort(kind="stable").argsort(kind="stable").reshape(chains, n) + 1.0) / values.size
    difference = np.stack([np.searchsorted(np.sort(chain), places, side="right") / n - places for chain in ranks])
    alone = np.array([ess_mean(chain[None]) for chain in ranks])
    effective = float(np.clip(alone[np.isfinite(alone)].mean(), 4.0, n)) if np.isfinite(alone).any() else 4.0
    used = int(min(effective, BAND_DRAWS))
    rng = np.random.Generator(np.random.SFC64([chains, used]))
    sd = np.sqrt(places * (1.0 - places) * (1.0 - 1.0 / chains) / used) if chains > 1 else np.full(points - 1, np.inf)
    largest = np.empty(BAND_RUNS)
    owner = np.repeat(np.arange(chains), used)
    first = np.maximum(np.floor(places * owner.size).astype(int), 1)  # how many of all stand at or below each place
    place = np.searchsorted(first, np.arange(owner.size), side="right")
    for i in ticket.looking(range(BAND_RUNS)):
        cells = rng.permutation(owner) * points + place
        below = np.bincount(cells, minlength=chains * points).reshape(chains, points)[:, :-1].cumsum(axis=1)
        largest[i] = np.max(np.abs(below / used - places) / sd)
    reach = np.quantile(largest, 0.95) * sd * np.sqrt(used / effective)
    return RankCurves(places, difference, -reach, reach)


def ess_quantiles(values: Array, shares: Array) -> Array:
    """Effective draws for the quantiles of values (chains, draws) at `shares` (p,)."""
    with np.errstate(all="ignore"):
        found = [_stats().ess(values, method="quantile", prob=float(share), chain_axis=0, draw_axis=1) for share in shares]
    return np.array(found, dtype=np.float64)
