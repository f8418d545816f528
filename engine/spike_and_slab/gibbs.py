"""Gibbs sampling over which predictors are in, with the coefficients integrated out.

One sweep: for the logistic model, Polya-Gamma weights omega_i ~ PG(1, eta_i), given which its likelihood is Gaussian in
the coefficients; then every gamma_j from p(gamma_j | other gammas, omega, y), a ratio of two closed-form integrals;
then the coefficients from their normal distribution. Every draw is exact, nothing is tuned.

Sources: George and McCulloch 1997 (gamma with the coefficients integrated out); Polson, Scott and Windle 2013.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel
from engine.resumable import Resumable
from engine.samplers.run import whole_number
from engine.spec import MAX_SEED
from engine.spike_and_slab.model import SpikeAndSlab, back_substitute, factorise

Array = NDArray[np.float64]

CUT = 0.64  # where the Polya-Gamma sampler changes from one series to the other


@dataclass(frozen=True, eq=False)
class SelectionRecording:
    """Sweeps over models.

    included : (chains, draws, p) bool, gamma
    conditional : (chains, draws, p), p(gamma_j = 1 | the rest) at the moment of its draw: its average estimates the
        inclusion probability with less noise than that of gamma
    coefficients : (chains, draws, K), 0 where out
    """

    included: NDArray[np.bool_]
    conditional: Array
    coefficients: Array

    @property
    def inclusion(self) -> Array:
        """(p,), estimated p(gamma_j = 1 | y)."""
        return np.asarray(self.conditional.mean(axis=(0, 1)))


@dataclass
class SelectionChain:
    """All that a chain carries: gamma (p,) bool, coefficients (K,), matrix X' Omega X (K, K) and its generator."""

    included: NDArray[np.bool_]
    coefficients: Array
    gram: Array
    rng: np.random.Generator


class SelectionRun(Resumable):
    """Chains over the models of a `SpikeAndSlab`, advanced as far as asked; chunks of any size give the same bytes.

    Chains start with every predictor drawn from its prior and all coefficients 0.
    """

    _carries = ("_chains",)
    _writes = ("_included", "_conditional", "_coefficients")

    def __init__(self, model: SpikeAndSlab, *, chains: int = 4, draws: int = 1000, warmup: int = 100, seed: int = 0):
        self.model = model
        self.chains, self.draws = whole_number("chains", chains, 1), whole_number("draws", draws, 1)
        self.warmup = whole_number("warmup", warmup, 0)
        seeds = np.random.SeedSequence(whole_number("seed", seed, 0, MAX_SEED)).spawn(self.chains)
        self._chains = [self._start(s) for s in seeds]
        self._make_room()

    def _make_room(self) -> None:
        p, K = self.model.predictors, self.model.predictors + self.model.always
        self._included = np.empty((self.chains, self.draws, p), np.bool_)
        self._conditional = np.empty((self.chains, self.draws, p))
        self._coefficients = np.empty((self.chains, self.draws, K))

    def _start(self, seed: np.random.SeedSequence) -> SelectionChain:
        rng, model = np.random.Generator(np.random.SFC64(seed)), self.model
        included = rng.random(model.predictors) < model.inclusion
        gram = np.ascontiguousarray(model.design.T @ model.design) / model.noise_sd**2
        return SelectionChain(included, np.zeros(model.design.shape[1]), gram, rng)

    def restart(self, included: NDArray[np.bool_], coefficients: Array, rng: np.random.Generator) -> None:
        """Put the first chain at a state."""
        chain = self._chains[0]
        chain.included, chain.coefficients, chain.rng = included.copy(), coefficients.copy(), rng

    def _warm_up_chain(self, c: int, first: int, n: int) -> None:
        self._sweep(c, n, slice(0))

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        self._sweep(c, n, slice(first, first + n))

    def _sweep(self, c: int, n: int, rows: slice) -> None:
        """n sweeps of chain c, written to `rows`."""
        chain, model = self._chains[c], self.model
        selection_chunk(
            model.design,
            model.moment,
            model.precision,
            model.log_odds,
            model.likelihood == "logistic",
            chain.rng,
            chain.gram,
            chain.included,
            chain.coefficients,
            n,
            self._included[c, rows],
            self._conditional[c, rows],
            self._coefficients[c, rows],
        )

    def recording(self) -> SelectionRecording:
        """The sweeps done so far (views, not copies)."""
        rows = slice(self.completed)
        return SelectionRecording(self._included[:, rows], self._conditional[:, rows], self._coefficients[:, rows])


def sample_models(model: SpikeAndSlab, *, chains: int = 4, draws: int = 1000, warmup: int = 100, seed: int = 0) -> SelectionRecording:
    """Gibbs sampling over the models. seed : 0 to 2**32 - 1. Raises SpecError naming a wrong parameter."""
    run = SelectionRun(model, chains=chains, draws=draws, warmup=warmup, seed=seed)
    run.advance(run.total)
    return run.recording()


@kernel
def _normal_below(z):
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@kernel
def _series(n, x):
    """Term n of the alternating series of the density at x."""
    k = n + 0.5
    if x <= CUT:
        return math.pi * k * (2.0 / (math.pi * x)) ** 1.5 * math.exp(-2.0 * k * k / x)
    return math.pi * k * math.exp(-0.5 * k * k * math.pi * math.pi * x)


@kernel
def _inverse_gaussian_below_cut(rng, z):
    """Inverse Gaussian with mean 1 / z and shape 1, given that it is below `CUT`."""
    if z * CUT < 1.0:
        while True:
            while True:
                first, second = rng.standard_exponential(), rng.standard_exponential()
                if first * first <= 2.0 * second / CUT:
                    break
            x = CUT / (1.0 + CUT * first) ** 2
            if rng.random() <= math.exp(-0.5 * z * z * x):
                return x
    mu = 1.0 / z
    while True:
        y = rng.standard_normal() ** 2
        x = mu + 0.5 * mu * mu * y - 0.5 * mu * math.sqrt(4.0 * mu * y + (mu * y) ** 2)
        if rng.random() > mu / (mu + x):
            x = mu * mu / x
        if x < CUT:
            return x


@kernel
def polya_gamma(rng, eta):
    """One draw of PG(1, eta), by Devroye's method of alternating series."""
    z = 0.5 * abs(eta)
    rate = 0.125 * math.pi * math.pi + 0.5 * z * z
    right = math.pi / (2.0 * rate) * math.exp(-rate * CUT)
    below = _normal_below((CUT * z - 1.0) / math.sqrt(CUT))
    if z < 30.0:  # beyond, the second term is less than e^-200
        below += math.exp(2.0 * z) * _normal_below(-(CUT * z + 1.0) / math.sqrt(CUT))
    left = 2.0 * math.exp(-z) * below
    while True:
        if rng.random() * (right + left) < right:
            x = CUT + rng.standard_exponential() / rate
        else:
            x = _inverse_gaussian_below_cut(rng, z)
        total = _series(0, x)
        level, n = rng.random() * total, 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= _series(n, x)
                if level <= total:
                    return 0.25 * x
            else:
                total += _series(n, x)
                if level > total:
                    break


@kernel
def _columns(included, always, index):
    k = always
    for j in range(always):
        index[j] = j
    for j in range(included.size):
        if included[j]:
            index[k] = always + j
            k += 1
    return k


@kernel
def selection_chunk(
    design,
    moment,
    precision,
    log_odds,
    logistic,
    rng,
    gram,
    included,
    coefficients,
    sweeps,
    trace_included,
    trace_conditional,
    trace_coefficients,
):
    """Advance one chain by `sweeps`; writes the traces where they have rows."""
    n, K = design.shape
    p = log_odds.size
    always, recorded = K - p, trace_included.shape[0] > 0
    index, root, half, beta = np.empty(K, np.int64), np.empty((K, K)), np.empty(K), np.empty(K)
    for sweep in range(sweeps):
        if logistic:
            gram[:] = 0.0
            for r in range(n):
                eta = 0.0
                for j in range(K):
                    eta += design[r, j] * coefficients[j]
                omega = polya_gamma(rng, eta)
                for i in range(K):
                    for j in range(i + 1):
                        gram[i, j] += omega * design[r, i] * design[r, j]
            for i in range(K):
                for j in range(i):
                    gram[j, i] = gram[i, j]
        k = _columns(included, always, index)
        present = factorise(gram, moment, precision, index, k, root, half)
        for j in range(p):
            included[j] = not included[j]
            k = _columns(included, always, index)
            flipped = factorise(gram, moment, precision, index, k, root, half)
            inside = flipped if included[j] else present
            outside = present if included[j] else flipped
            probability = 1.0 / (1.0 + math.exp(outside - inside - log_odds[j]))
            chosen = rng.random() < probability
            if chosen == included[j]:
                present = flipped
            included[j] = chosen
            if recorded:
                trace_conditional[sweep, j] = probability
        k = _columns(included, always, index)
        factorise(gram, moment, precision, index, k, root, half)
        for i in range(k):
            half[i] += rng.standard_normal()
        back_substitute(root, k, half, beta)
        coefficients[:] = 0.0
        for i in range(k):
            coefficients[index[i]] = beta[i]
        if recorded:
            trace_included[sweep], trace_coefficients[sweep] = included, coefficients
