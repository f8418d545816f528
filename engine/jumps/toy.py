"""Reversible jump on nested Gaussian models, where everything is known exactly.

Two families. *means*: one, two, ... means for groups of measurements; a birth splits the first mean in two, a death
merges them. *polynomial*: one, two, ... coefficients; a birth appends one, a death drops the last. One sweep is a jump
and then a draw of all parameters from their exact posterior given the model (Gibbs).

A birth from k is chosen with probability b_k (1 at the bottom, 0 at the top), a death with d_k = 1 - b_k. Birth:
`u ~ N(0, 1)`, `theta' = A_k (theta, u)`, accepted with `min(1, r)`,

    r = [lik(theta') / lik(theta)] [p(k+1) / p(k)] [p(theta') / p(theta)] [1 / q(u)] [d_{k+1} / b_k] |det A_k|

A death computes `(theta', u) = A_{k-1}^{-1} theta` and has the reciprocal of the ratio of the birth that undoes it.
Source: Green 1995; the split of a mean as in Richardson and Green 1997.

Wrong on purpose (`variant`): each leaves a factor out, see `counted`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.jumps.nested import Nested, append_maps, group_designs, legendre_designs, nested, split_maps
from engine.kernels import kernel
from engine.spec import MAX_SEED, Spec, SpecError, choice, integer, number, seed_field

Array = NDArray[np.float64]

FAMILIES = ("means", "polynomial")
MODEL_PRIORS = ("uniform", "geometric")
FACTORS = ("likelihood", "model prior", "parameter prior", "proposal density", "choice of the move", "Jacobian")
VARIANTS = ("exact", "no_jacobian", "no_end_points", "no_proposal", "one_sided")
DETAILS = ("draws", "jumps")
MAX_SWEEPS = 5_000_000  # of all chains together

LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, kw_only=True)
class ToySpec(Spec):
    """Data, models, sampler and size of a run. Model k has k parameters."""

    family: str = choice("means", FAMILIES, "means of groups, split and merged; or a polynomial's coefficients")
    models: int = integer(3, 3, 6, "number of models: groups that may differ in mean, or most coefficients")
    observations: int = integer(30, 6, 300, "measurements in all", log=True)
    truth: int = integer(2, 1, 6, "model that made the data")
    effect: float = number(0.5, 0.0, 5.0, "the true means are ± this; so are the true coefficients", step=0.1)
    noise_sd: float = number(1.0, 0.1, 5.0, "standard deviation of a measurement", log=True)
    data_seed: int = integer(1, 0, MAX_SEED, "random numbers of the data")
    likelihood: str = choice("on", ("on", "off"), "off: there are no data, and the answer is the prior")
    prior_sd: float = number(2.0, 0.1, 20.0, "prior standard deviation of every parameter", log=True)
    model_prior: str = choice("uniform", MODEL_PRIORS, "prior on the number of parameters: the same for all, or halved at each step")
    spread: float = number(1.5, 0.05, 5.0, "how far u moves the new parameters: the Jacobian grows with it", log=True)
    birth: float = number(0.5, 0.05, 0.95, "probability of trying a birth where both moves are possible", step=0.05)
    start: int = integer(1, 1, 6, "model of the first state")
    chains: int = integer(4, 1, 16, "independent chains, each with its own random numbers")
    draws: int = integer(5000, 1, 2_000_000, "sweeps of each chain: one jump, then one draw of the parameters", log=True)
    variant: str = choice("exact", VARIANTS, "the sampler, or one that is wrong on purpose")
    seed: int = seed_field()

    def check(self) -> None:
        for name in ("truth", "start"):
            if getattr(self, name) > self.models:
                raise SpecError(name, f"{getattr(self, name)} is more than the {self.models} models there are")
        if self.chains * self.draws > MAX_SWEEPS:
            raise SpecError("draws", f"{self.chains} chains of {self.draws:,} sweeps are more than the {MAX_SWEEPS:,} allowed")


class ToyData(NamedTuple):
    """What was measured, n times.

    x : (n,), evenly from -1 to 1; the groups are consecutive
    y : (n,)
    designs : X_k (n, k) of every model, so that X_k theta is what model k with theta expects
    true_mean : (n,), the expectation of y
    """

    x: Array
    y: Array
    designs: list[Array]
    true_mean: Array


def data_of(spec: ToySpec) -> ToyData:
    """The measurements; made also where the likelihood is off."""
    x = np.linspace(-1.0, 1.0, spec.observations)
    if spec.family == "means":
        designs = group_designs(spec.observations, spec.models)
    else:
        designs = legendre_designs(x, spec.models)
    signs = (-1.0) ** np.arange(1, spec.truth + 1)
    true_mean = spec.effect * (designs[spec.truth - 1] @ signs)
    noise = np.random.Generator(np.random.SFC64(spec.data_seed)).standard_normal(spec.observations)
    return ToyData(x, true_mean + spec.noise_sd * noise, designs, true_mean)


@lru_cache(maxsize=64)
def models_of(spec: ToySpec) -> Nested:
    """The models, solved. Read only: shared between runs."""
    return _solved(spec, data_of(spec))


def _solved(spec: ToySpec, data: ToyData) -> Nested:
    known = spec.observations if spec.likelihood == "on" else 0
    maps = split_maps if spec.family == "means" else append_maps
    ratio = 0.0 if spec.model_prior == "uniform" else -math.log(2.0)
    return nested(
        [X[:known] for X in data.designs],
        data.y[:known],
        maps(spec.models, spec.spread),
        ratio * np.arange(spec.models, dtype=np.float64),
        noise_sd=spec.noise_sd,
        prior_sd=spec.prior_sd,
    )


class ToyExact(NamedTuple):
    """The exact answer for K models.

    probability : (K,), p(k | y)
    log_evidence : (K,), log p(y | k)
    mean : (K, K), posterior mean of theta given k in row k - 1, NaN beyond its k parameters
    covariance : (K, K, K), likewise
    """

    probability: Array
    log_evidence: Array
    mean: Array
    covariance: Array


def exact(spec: ToySpec) -> ToyExact:
    """Model probabilities and parameters in closed form."""
    m = models_of(spec)
    log_p = m.log_prior + m.log_evidence
    index = np.arange(spec.models)
    inside = index <= index[:, None]
    mean = np.where(inside, m.mean, np.nan)
    covariance = np.where(inside[:, :, None] & inside[:, None, :], m.root @ m.root.swapaxes(1, 2), np.nan)
    return ToyExact(np.exp(log_p - np.logaddexp.reduce(log_p)), m.log_evidence.copy(), mean, covariance)


def limit(spec: ToySpec) -> Array | None:
    """(K,) model probabilities that the sampler of `spec.variant` tends to; None where no closed form is known.

    Leaving out a factor c_k that depends on k alone, in births and in deaths, gives a chain that is reversible for
    another distribution: every p(k + 1 | y) / p(k | y) is divided by c_k.
    """
    probability, m = exact(spec).probability, models_of(spec)
    if spec.variant == "exact":
        return probability
    if spec.variant not in ("no_jacobian", "no_end_points"):
        return None
    births, deaths = _move_probabilities(spec)
    forgotten = m.log_jacobian if spec.variant == "no_jacobian" else np.log(deaths[1:] / births[:-1])
    log_p = np.log(probability) - np.concatenate([[0.0], np.cumsum(forgotten)])
    return np.asarray(np.exp(log_p - np.logaddexp.reduce(log_p)))


def counted(variant: str) -> NDArray[np.bool_]:
    """(2, 6), whether births (row 0) and deaths (row 1) of the variant put each of the `FACTORS` into their ratio."""
    count = np.ones((2, len(FACTORS)), dtype=np.bool_)
    if variant == "no_jacobian":
        count[:, FACTORS.index("Jacobian")] = False
    elif variant == "no_end_points":
        count[:, FACTORS.index("choice of the move")] = False
    elif variant == "no_proposal":
        count[:, FACTORS.index("proposal density")] = False
    elif variant == "one_sided":
        count[1, FACTORS.index("choice of the move")] = False
    return count


def _move_probabilities(spec: ToySpec) -> tuple[Array, Array]:
    """b_k and d_k, (K,) each."""
    births = np.full(spec.models, spec.birth)
    births[0], births[-1] = 1.0, 0.0
    return births, 1.0 - births


class Ledger(NamedTuple):
    """The jump ledger: one row a sweep. A model has K parameters at most; what it has not is NaN.

    birth : (chains, n) bool, else a death
    source, destination : (chains, n) int64, the model k before the jump and the one proposed
    before, proposed : (chains, n, K), theta and theta'
    u : (chains, n), drawn by a birth, computed by a death
    factors : (chains, n, 6), the logs named by `FACTORS`, as they entered the decision: 0 where the variant forgets one
    forgotten : (chains, n, 6), the logs that it forgot, 0 elsewhere
    log_ratio : (chains, n), the sum of `factors` from left to right
    log_alpha : (chains, n), min(0, log_ratio)
    uniform : (chains, n), accepted if and only if uniform < exp(log_alpha)
    """

    birth: NDArray[np.bool_]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    before: Array
    proposed: Array
    u: Array
    factors: Array
    forgotten: Array
    log_ratio: Array
    log_alpha: Array
    uniform: Array

    @classmethod
    def empty(cls, chains: int, n: int, models: int) -> Ledger:
        shape = (chains, n)
        return cls(
            np.empty(shape, dtype=np.bool_),
            np.empty(shape, dtype=np.int64),
            np.empty(shape, dtype=np.int64),
            np.empty((*shape, models)),
            np.empty((*shape, models)),
            np.empty(shape),
            np.empty((*shape, len(FACTORS))),
            np.empty((*shape, len(FACTORS))),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape),
        )

    def at(self, *where: int | slice) -> Ledger:
        """Views of all arrays at the same place."""
        return Ledger._make(array[where] for array in self)


@dataclass(frozen=True, eq=False)
class ToyRecording:
    """What a run did.

    model : (chains, draws) int64, k after each sweep
    theta : (chains, draws, K), the parameters after each sweep, NaN beyond the k of the model
    accepted : (chains, draws) bool, of the jump
    start : (chains, K), the parameters before the first sweep, of model `spec.start`
    ledger : its jumps; None at detail "draws"
    spec : what was run
    """

    model: NDArray[np.int64]
    theta: Array
    accepted: NDArray[np.bool_]
    start: Array
    ledger: Ledger | None
    spec: ToySpec


@dataclass
class ToyChain:
    """All that a chain carries from sweep to sweep: theta (K,), 0 beyond its parameters, k in `model` (1,), and the
    generator.
    """

    theta: Array
    model: NDArray[np.int64]
    rng: np.random.Generator


def from_state(spec: ToySpec, y: Array, model: int, theta: Array, rng: np.random.Generator) -> ToyRecording:
    """The run of one chain on other measurements y (n,), from a state: model k and theta (K,), 0 beyond k."""
    run = ToyRun(spec.replace(chains=1))
    run._models = _solved(spec, data_of(spec)._replace(y=y))
    run._chains = [ToyChain(theta.copy(), np.array([model]), rng)]
    run.advance(run.total)
    return run.recording()


class ToyRun:
    """Chains of a spec, advanced as far as asked. Chain c is the same whatever the chunking and the number of chains.

    detail : "draws", or "jumps" to record the jump ledger
    """

    def __init__(self, spec: ToySpec, *, detail: str = "draws"):
        if detail not in DETAILS:
            raise SpecError("detail", f"{detail!r} is not one of {', '.join(DETAILS)}")
        self.spec, self.detail, self.completed = spec, detail, 0
        self._models = models_of(spec)
        self._moves = _move_probabilities(spec)
        self._counted = counted(spec.variant)
        self._chains = [self._start(seed) for seed in np.random.SeedSequence(spec.seed).spawn(spec.chains)]
        self._first = np.stack([chain.theta for chain in self._chains])
        shape = (spec.chains, spec.draws)
        self._model = np.empty(shape, dtype=np.int64)
        self._theta = np.empty((*shape, spec.models))
        self._accepted = np.empty(shape, dtype=np.bool_)
        self._ledger = Ledger.empty(spec.chains, spec.draws if detail == "jumps" else 0, spec.models)

    def _start(self, seed: np.random.SeedSequence) -> ToyChain:
        """A chain at the start model, its parameters an exact draw."""
        rng, k, m = np.random.Generator(np.random.SFC64(seed)), self.spec.start, self._models
        theta = m.mean[k - 1] + m.root[k - 1] @ rng.standard_normal(self.spec.models)
        return ToyChain(theta, np.array([k]), rng)

    @property
    def total(self) -> int:
        """Sweeps of each chain."""
        return self.spec.draws

    @property
    def done(self) -> bool:
        return self.completed == self.total

    def advance(self, n: int) -> int:
        """Run up to n more sweeps of every chain. Returns how many were run."""
        first = self.completed
        last = min(first + n, self.total)
        for c, chain in enumerate(self._chains):
            rows = slice(first, last)
            ledger = self._ledger.at(c, rows if self.detail == "jumps" else slice(0))
            toy_chunk(
                self._models,
                *self._moves,
                self._counted,
                chain.rng,
                chain.model,
                chain.theta,
                self._model[c, rows],
                self._theta[c, rows],
                self._accepted[c, rows],
                ledger,
            )
        self.completed = last
        return last - first

    def recording(self) -> ToyRecording:
        """The sweeps done so far (views, not copies)."""
        rows = slice(self.completed)
        return ToyRecording(
            self._model[:, rows],
            self._theta[:, rows],
            self._accepted[:, rows],
            _outside_nan(self._first, np.full(len(self._first), self.spec.start)),
            self._ledger.at(slice(None), rows) if self.detail == "jumps" else None,
            self.spec,
        )


def begin(spec: ToySpec, *, detail: str = "draws") -> ToyRun:
    """The run of a spec, not moved yet: for jobs that advance it in pieces."""
    return ToyRun(spec, detail=detail)


def record(spec: ToySpec, *, detail: str = "draws") -> ToyRecording:
    """Run a spec to its end. detail : "draws", or "jumps" to record the jump ledger."""
    run = begin(spec, detail=detail)
    run.advance(run.total)
    return run.recording()


def _outside_nan(theta: Array, k: Any) -> Array:
    return np.where(np.arange(theta.shape[1]) < k[:, None], theta, np.nan)


@kernel
def _log_likelihood(models, k, theta):
    """Of model k + 1 at theta[:k + 1]."""
    total = models.log_constant
    for i in range(k + 1):
        row = 0.0
        for j in range(k + 1):
            row += models.gram[k, i, j] * theta[j]
        total += theta[i] * (models.moment[k, i] - 0.5 * row)
    return total


@kernel
def _log_prior(precision, size, theta):
    """Of `size` parameters."""
    squares = 0.0
    for i in range(size):
        squares += theta[i] * theta[i]
    return 0.5 * size * (math.log(precision) - LOG_2PI) - 0.5 * precision * squares


@kernel
def _apply(matrix, size, source, out):
    for i in range(size):
        out[i] = 0.0
        for j in range(size):
            out[i] += matrix[i, j] * source[j]


@kernel
def toy_chunk(models, births, deaths, counted, rng, model, theta, trace_model, trace_theta, trace_accepted, ledger):
    """Advance one chain by as many sweeps as `trace_model` has rows. Inside, models count from 0."""
    K = theta.size
    before, proposed, factors = np.empty(K), np.empty(K), np.empty(6)
    detailed = ledger.uniform.size > 0
    k = model[0] - 1
    for sweep in range(trace_model.size):
        birth = rng.random() < births[k]
        to = k + 1 if birth else k - 1
        low = min(k, to)
        for j in range(K):
            before[j], proposed[j] = theta[j], 0.0
        if birth:
            before[to] = rng.standard_normal()
            _apply(models.maps[low], low + 2, before, proposed)
            u = before[to]
            sign = 1.0
        else:
            _apply(models.inverses[low], low + 2, before, proposed)
            u = proposed[k]
            sign = -1.0
        factors[0] = _log_likelihood(models, to, proposed) - _log_likelihood(models, k, before)
        factors[1] = models.log_prior[to] - models.log_prior[k]
        precision = models.prior_precision
        factors[2] = _log_prior(precision, to + 1, proposed) - _log_prior(precision, k + 1, before)
        factors[3] = sign * 0.5 * (u * u + LOG_2PI)
        factors[4] = sign * (math.log(deaths[low + 1]) - math.log(births[low]))
        factors[5] = sign * models.log_jacobian[low]
        log_ratio = 0.0
        for j in range(6):
            if counted[0 if birth else 1, j]:
                log_ratio += factors[j]
        log_alpha = min(0.0, log_ratio)
        uniform = rng.random()
        accepted = uniform < math.exp(log_alpha)
        if detailed:
            ledger.birth[sweep], ledger.source[sweep], ledger.destination[sweep] = birth, k + 1, to + 1
            for j in range(K):
                ledger.before[sweep, j] = before[j] if j <= k else np.nan
                ledger.proposed[sweep, j] = proposed[j] if j <= to else np.nan
            ledger.u[sweep] = u
            for j in range(6):
                known = counted[0 if birth else 1, j]
                ledger.factors[sweep, j] = factors[j] if known else 0.0
                ledger.forgotten[sweep, j] = 0.0 if known else factors[j]
            ledger.log_ratio[sweep], ledger.log_alpha[sweep] = log_ratio, log_alpha
            ledger.uniform[sweep] = uniform
        if accepted:
            k = to
        # All parameters anew from their exact posterior given k; `before` holds the noise.
        for j in range(k + 1):
            before[j] = rng.standard_normal()
        for i in range(K):
            theta[i] = 0.0
            if i <= k:
                theta[i] = models.mean[k, i]
                for j in range(i + 1):
                    theta[i] += models.root[k, i, j] * before[j]
            trace_theta[sweep, i] = theta[i] if i <= k else np.nan
        trace_model[sweep], trace_accepted[sweep] = k + 1, accepted
    model[0] = k + 1
