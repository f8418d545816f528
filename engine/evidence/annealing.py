"""One population of particles, carried from a normal reference to a target: sequential Monte Carlo and annealed
importance sampling.

The path of densities is `log gamma_beta(q) = (1 - beta) log r(q) + beta log pi(q)`, r = N(mean, sd^2) normalised, beta
from 0 to 1; where r is the prior of a posterior pi, it is prior x likelihood^beta. Where pi is given as the likelihood
alone, the first term is log r throughout. A level raises beta:

1. every particle's log weight gains `(beta' - beta) (log pi - log r)` where it *is* (without log r for a likelihood);
2. at levels marked so, the population is resampled (systematically) and the mean weight goes into the running evidence;
3. every particle makes one HMC transition that leaves gamma_beta' as it is.

The product of the mean weights is an unbiased estimate of the integral of exp(log pi), provided that nothing of the
path depends on this population: temperatures and step sizes come from a pilot. Without resampling this is Neal's
annealed importance sampling. Sources: Neal 2001; Del Moral, Doucet and Jasra 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels import kernel, log_density_at
from engine.targets.target import Target

Array = NDArray[np.float64]

EXACT, SKIPPED_WEIGHT, LATE_WEIGHTS = range(3)
VARIANTS = ("exact", "skipped_weight", "late_weights")

JITTER = 0.2  # step sizes vary by this fraction: no trajectory length is a period of the target


class Reference(NamedTuple):
    """The normal density at beta = 0.

    mean : (dim,)
    precision : (dim,), 1 / sd^2
    log_constant : log density at the mean
    included : 1.0 where the target's density contains all factors; 0.0 where it is a likelihood, and the integral
        asked for is that of reference x likelihood
    """

    mean: Array
    precision: Array
    log_constant: float
    included: float


class Path(NamedTuple):
    """The levels, T of them.

    beta : (T + 1,), from 0 to 1
    resample : (T,) bool, whether the population is resampled at the level
    step_size : (T,), of the leapfrog in units of `scale`
    steps : (T,) int64, leapfrog steps of a transition
    scale : (T, dim), spread of the population in each coordinate
    """

    beta: Array
    resample: NDArray[np.bool_]
    step_size: Array
    steps: NDArray[np.int64]
    scale: Array

    def every_second(self) -> Path:
        """The path with every second level left out; a level resamples if it or the one left out before it did."""
        kept = np.arange(len(self.steps) - 1, -1, -2)[::-1]
        resample = self.resample[kept] | (self.resample[kept - 1] & (kept > 0))
        return Path(
            np.concatenate([self.beta[:1], self.beta[kept + 1]]), resample, self.step_size[kept], self.steps[kept], self.scale[kept]
        )


@dataclass
class Population:
    """N particles and all that they carry from level to level: plain arrays and one generator, so it pickles.

    position : (N, dim)
    gradient : (N, dim), of the target's log density there
    log_target : (N,)
    log_weight : (N,), since the last resampling
    running : (1,), log of the product of the mean weights of all resamplings so far
    ints, scratch : the target's buffers
    rng : SFC64, the only source of randomness
    """

    position: Array
    gradient: Array
    log_target: Array
    log_weight: Array
    running: Array
    ints: NDArray[np.int64]
    scratch: Array
    rng: np.random.Generator

    @classmethod
    def from_reference(cls, target: Target, reference: Reference, particles: int, seed: np.random.SeedSequence):
        """Independent draws of the reference."""
        rng = np.random.Generator(np.random.SFC64(seed))
        sd = 1.0 / np.sqrt(reference.precision)
        position = reference.mean + sd * rng.standard_normal((particles, target.dim))
        gradient, log_target = np.empty_like(position), np.empty(particles)
        ints, scratch = target.buffers()
        _evaluate(target.address, target.data, ints, scratch, position, gradient, log_target)
        return cls(position, gradient, log_target, np.zeros(particles), np.zeros(1), ints, scratch, rng)

    def advance(self, target: Target, reference: Reference, path: Path, first: int, last: int, variant: int) -> Array:
        """Run the levels first..last-1. Returns their mean acceptance probabilities (last - first,)."""
        accept = np.empty(last - first)
        anneal_chunk(
            target.address,
            target.data,
            self.ints,
            self.scratch,
            reference,
            path,
            self.rng,
            self.position,
            self.gradient,
            self.log_target,
            self.log_weight,
            self.running,
            first,
            last,
            variant,
            accept,
        )
        return accept

    def log_evidence(self) -> float:
        """Log of the product of the mean weights so far, those since the last resampling included."""
        return float(self.running[0] + np.logaddexp.reduce(self.log_weight) - math.log(len(self.log_weight)))


@kernel
def _evaluate(address, data, ints, scratch, position, gradient, log_target):
    for i in range(log_target.size):
        log_target[i] = log_density_at(address, position[i], gradient[i], data, ints, scratch)


@kernel
def log_reference(reference, q):
    """Log density of the reference at q (dim,)."""
    squares = 0.0
    for j in range(q.size):
        off = q[j] - reference.mean[j]
        squares += reference.precision[j] * off * off
    return reference.log_constant - 0.5 * squares


@kernel
def _weigh(reference, raised, position, log_target, log_weight):
    """Log weights after beta has risen by `raised`. A point outside the target's support weighs nothing."""
    for i in range(log_weight.size):
        if log_target[i] > -np.inf:
            log_weight[i] += raised * (log_target[i] - reference.included * log_reference(reference, position[i]))
        else:  # minus infinity or not a number
            log_weight[i] = -np.inf


@kernel
def _resample(rng, position, gradient, log_target, log_weight):
    """Replace the particles by systematic resampling, weights by 1. Returns the log of the mean weight."""
    n = log_weight.size
    top = log_weight.max()
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(n):
        total += math.exp(log_weight[i] - top)
    ancestor = np.empty(n, dtype=np.int64)
    uniform, reached, j = rng.random(), math.exp(log_weight[0] - top), 0
    for i in range(n):
        while reached * n < (uniform + i) * total and j < n - 1:
            j += 1
            reached += math.exp(log_weight[j] - top)
        ancestor[i] = j
    position[:], gradient[:], log_target[:] = position[ancestor], gradient[ancestor], log_target[ancestor]
    log_weight[:] = 0.0
    return top + math.log(total / n)


@kernel
def _slope(reference, beta, q, gradient, out):
    """out = gradient of log gamma_beta at q, `gradient` that of the target."""
    kept = 1.0 - beta * reference.included
    for j in range(q.size):
        out[j] = beta * gradient[j] - kept * reference.precision[j] * (q[j] - reference.mean[j])


@kernel
def move(address, data, ints, scratch, reference, rng, beta, step_size, steps, scale, position, gradient, log_target):
    """One HMC transition of every particle at gamma_beta, in coordinates divided by `scale`. Returns the mean
    acceptance probability.
    """
    n, dim = position.shape
    q, p, slope, g = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    kept, mean_accept = 1.0 - beta * reference.included, 0.0
    for i in range(n):
        epsilon = step_size * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
        energy = -kept * log_reference(reference, position[i]) - beta * log_target[i]
        for j in range(dim):
            q[j] = position[i, j]
            p[j] = rng.standard_normal()
            energy += 0.5 * p[j] * p[j]
        _slope(reference, beta, q, gradient[i], slope)
        value = log_target[i]
        for j in range(dim):
            p[j] += 0.5 * epsilon * scale[j] * slope[j]
        for step in range(steps):
            for j in range(dim):
                q[j] += epsilon * scale[j] * p[j]
            value = log_density_at(address, q, g, data, ints, scratch)
            if not math.isfinite(value):
                break
            _slope(reference, beta, q, g, slope)
            kick = 0.5 * epsilon if step == steps - 1 else epsilon
            for j in range(dim):
                p[j] += kick * scale[j] * slope[j]
        accept_prob = 0.0
        if math.isfinite(value):
            after = -kept * log_reference(reference, q) - beta * value
            for j in range(dim):
                after += 0.5 * p[j] * p[j]
            accept_prob = 1.0 if after <= energy else math.exp(energy - after)
        if rng.random() < accept_prob:
            log_target[i] = value
            for j in range(dim):
                position[i, j] = q[j]
                gradient[i, j] = g[j]
        if accept_prob > 0.0:  # not where it is not a number
            mean_accept += accept_prob / n
    return mean_accept


@kernel
def anneal_chunk(
    address, data, ints, scratch, reference, path, rng, position, gradient, log_target, log_weight, running, first, last, variant, accept
):
    """Run the levels first..last-1 of the path."""
    levels = path.resample.size
    for t in range(first, last):
        raised = path.beta[t + 1] - path.beta[t]
        skipped = variant == SKIPPED_WEIGHT and t == levels // 2
        if variant != LATE_WEIGHTS and not skipped:
            _weigh(reference, raised, position, log_target, log_weight)
        if path.resample[t]:
            running[0] += _resample(rng, position, gradient, log_target, log_weight)
        accept[t - first] = move(
            address,
            data,
            ints,
            scratch,
            reference,
            rng,
            path.beta[t + 1],
            path.step_size[t],
            path.steps[t],
            path.scale[t],
            position,
            gradient,
            log_target,
        )
        if variant == LATE_WEIGHTS:
            _weigh(reference, raised, position, log_target, log_weight)
