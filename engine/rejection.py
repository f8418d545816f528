"""The posterior of a network by rejection: the prior proposes, the likelihood rejects. And a walk that does better.

With y_i ~ N(f(x_i), sd^2) the likelihood of a network is exp(-S / 2 sd^2) times its largest possible value, S the sum
of squared residuals: so a prior draw that is accepted with probability exp(-S / 2 sd^2) is an exact, independent draw
from the posterior, and the share accepted estimates the evidence over that largest value.

The walk is the preconditioned Crank-Nicolson sampler (Neal 1998; Cotter et al. 2013), a Metropolis sampler for normal
priors: it proposes sqrt(1 - beta^2) z + beta * (a fresh prior draw) and accepts by the ratio of likelihoods alone.
With beta = 1 each proposal is a whole new network, as in rejection.

Source of the example: Andersen and Roed-Sørensen 2021, section 4.3, after Neal 1996.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import fast_kernel, kernel
from engine.networks.prior import CHUNK, Prior, function_values, stream
from engine.spec import SpecError
from engine.ticket import each

Array = NDArray[np.float64]

BOUNDS = ("exact", "observed", "undivided")
MOST_KEPT = 2000  # accepted networks whose weights are kept
NEGLIGIBLE = 1e-10  # importance weights below this part of 1 are left out of averages over functions


@dataclass(frozen=True, eq=False)
class Rejection:
    """What became of `tried` networks drawn from the prior.

    squares : (points + 1, tried) sum of squared residuals over the first 0, 1, ... points
    uniform : (tried,) the u that decides
    accepted : (tried,) by all points
    log_scale : log of what the likelihood over its largest possible value is multiplied by before u is compared with it
        (0 for the exact bound)
    weights : (at most MOST_KEPT, dim) the first accepted networks; index : their numbers
    shown : (len(show), dim) the networks asked for
    """

    squares: Array
    uniform: Array
    accepted: NDArray[np.bool_]
    log_scale: float
    weights: Array
    index: NDArray[np.int64]
    shown: Array

    @property
    def tried(self) -> int:
        """Number of networks."""
        return self.uniform.size

    def log_ratio(self, sd: float, points: int = -1) -> Array:
        """(tried,) log of likelihood over its largest possible value, given the first `points` points, default all."""
        return -self.squares[points] / (2.0 * sd**2)


@fast_kernel
def _residuals(theta, width, depth, kind, squash, x, y, squares):
    """Cumulative squared residuals (points + 1, n) of networks theta (n, dim)."""
    h, g = np.empty((width, x.size)), np.empty((width if depth > 1 else 1, x.size))
    f = np.empty(x.size)
    for s in range(len(theta)):
        function_values(theta[s], width, depth, kind, squash, x, f, h, g)
        total = 0.0
        squares[0, s] = 0.0
        for i in range(x.size):
            total += (y[i] - f[i]) ** 2
            squares[i + 1, s] = total


def reject(prior: Prior, x: ArrayLike, y: ArrayLike, sd: float, n: int, seed: int, bound: str = "exact", show: ArrayLike = ()) -> Rejection:
    """Draw `n` networks from the prior and accept each with probability likelihood / bound.

    x, y : (points,)
    sd : standard deviation of the noise on y
    bound : "exact", the likelihood of a network that meets every point; "observed", the largest likelihood among the n
        networks, which makes the draws slightly dependent; "undivided", no division at all: u is compared with the
        likelihood itself, wrong wherever that is above 1
    show : numbers of networks whose weights are wanted whatever becomes of them
    """
    x, y = _checked(x, y, sd, n)
    if bound not in BOUNDS:
        raise SpecError("bound", f"{bound!r} is not one of {', '.join(BOUNDS)}")
    show = np.asarray(show, dtype=np.int64)
    squares, uniform = np.empty((len(x) + 1, n)), np.empty(n)
    highest = -0.5 * len(x) * math.log(2.0 * math.pi * sd**2)

    def chunk(number: int) -> tuple[Array, NDArray[np.int64], Array]:
        first, last = number * CHUNK, min((number + 1) * CHUNK, n)
        rng = stream(seed, number)
        theta = rng.standard_normal((last - first, prior.dim)) * prior.sds()
        uniform[first:last] = rng.random(last - first)
        part = np.empty((len(x) + 1, last - first))
        _residuals(theta, prior.width, prior.depth, *prior.codes, x, y, part)
        squares[:, first:last] = part
        ratio = -part[-1] / (2.0 * sd**2)
        # of a bound not known yet, one that is surely not too high
        scale = {"exact": 0.0, "observed": -ratio.max(), "undivided": highest}[bound]
        with np.errstate(divide="ignore"):
            candidates = np.flatnonzero(np.log(uniform[first:last]) < ratio + scale)[:MOST_KEPT]
        wanted = show[(show >= first) & (show < last)]
        return theta[candidates], first + candidates, theta[wanted - first]

    parts = each(chunk, range(-(-n // CHUNK)))
    ratio = -squares[-1] / (2.0 * sd**2)
    scale = {"exact": 0.0, "observed": -float(ratio.max()), "undivided": highest}[bound]
    with np.errstate(divide="ignore"):
        accepted = np.log(uniform) < ratio + scale
    weights, index = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    keep = np.flatnonzero(accepted[index])[:MOST_KEPT]
    shown = np.concatenate([part[2] for part in parts])
    return Rejection(squares, uniform, accepted, scale, weights[keep], index[keep], shown)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Averages over networks drawn from the prior, each weighted with its likelihood over the largest possible one.

    rate : mean weight, the acceptance probability of exact rejection; rate_error its standard error
    mean, sd : (m,) of f under the posterior; mean_error, square_error : (m,) standard errors of the means of f and f^2
    square : (m,) mean of f^2
    effective : effective number of draws, (sum w)^2 / sum w^2
    """

    rate: float
    rate_error: float
    mean: Array
    square: Array
    sd: Array
    mean_error: Array
    square_error: Array
    effective: float


def importance(prior: Prior, x: ArrayLike, y: ArrayLike, sd: float, n: int, seed: int, at: ArrayLike) -> Weighted:
    """The posterior of f at inputs `at` (m,) by importance sampling from the prior, with `n` networks."""
    x, y = _checked(x, y, sd, n)
    at = np.ascontiguousarray(at, dtype=np.float64)

    def chunk(number: int) -> tuple[Array, ...]:
        size = min(CHUNK, n - number * CHUNK)
        theta = stream(seed, number).standard_normal((size, prior.dim)) * prior.sds()
        squares = np.empty((len(x) + 1, size))
        _residuals(theta, prior.width, prior.depth, *prior.codes, x, y, squares)
        weight = np.exp(-squares[-1] / (2.0 * sd**2))
        heavy = weight > NEGLIGIBLE
        w, f = weight[heavy], prior.values(theta[heavy], at)
        powers = [f**0, f, f**2, f**3, f**4]
        once, twice = (np.stack([v @ p for p in powers]) for v in (w, w**2))
        return np.array([weight.sum(), (weight**2).sum()]), once, twice

    sums, once, twice = (sum(parts) for parts in zip(*each(chunk, range(-(-n // CHUNK))), strict=True))
    rate = sums[0] / n
    rate_error = math.sqrt(max(sums[1] / n - rate**2, 0.0) / n)
    total = max(float(sums[0]), 1e-300)
    mean, square = once[1] / total, once[2] / total
    # the delta method: Var of a ratio of sums is sum w^2 (g - mean g)^2 / (sum w)^2
    mean_error = np.sqrt(np.maximum(twice[2] - 2 * mean * twice[1] + mean**2 * twice[0], 0.0)) / total
    square_error = np.sqrt(np.maximum(twice[4] - 2 * square * twice[2] + square**2 * twice[0], 0.0)) / total
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    effective = float(sums[0] ** 2 / max(sums[1], 1e-300))
    return Weighted(float(rate), rate_error, mean, square, spread, mean_error, square_error, effective)


@dataclass(frozen=True, eq=False)
class Walk:
    """Chains of networks.

    weights : (chains, kept, dim); log_likelihood : (chains, kept), without its constant
    accept_prob : (chains,) mean acceptance probability after the warm-up
    step : (chains,) beta after the warm-up
    evaluations : networks compared with the points, by all chains, warm-up included
    """

    weights: Array
    log_likelihood: Array
    accept_prob: Array
    step: Array
    evaluations: int


@kernel
def _walk(rng, z, sds, width, depth, kind, squash, x, y, sd, beta, unshrunk, warmup, steps, thin, weights, logs):
    """One chain from z (dim,), a prior draw in prior sds, overwritten; fills weights (kept, dim) and logs (kept,).
    Returns acceptance and beta. unshrunk : propose z + beta * (a fresh prior draw), wrong on purpose.
    """
    dim = sds.size
    h, g = np.empty((width, x.size)), np.empty((width if depth > 1 else 1, x.size))
    theta, f = np.empty(dim), np.empty(x.size)
    for i in range(dim):
        theta[i] = sds[i] * z[i]
    old = _log_likelihood(theta, width, depth, kind, squash, x, y, sd, f, h, g)
    new = np.empty(dim)
    accepted, due = 0.0, 0.0
    for step in range(warmup + steps):
        stay = 1.0 if unshrunk else math.sqrt(1.0 - beta * beta)
        for i in range(dim):
            new[i] = stay * z[i] + beta * rng.standard_normal()
            theta[i] = sds[i] * new[i]
        log_new = _log_likelihood(theta, width, depth, kind, squash, x, y, sd, f, h, g)
        probability = math.exp(min(0.0, log_new - old))
        if rng.random() < probability:
            old = log_new
            for i in range(dim):
                z[i] = new[i]
        if step < warmup:  # steps shrink while too few are accepted; after the warm-up they stay
            beta = min(1.0, beta * math.exp((probability - 0.25) * 5.0 / (5.0 + 0.02 * step) * 0.2))
            continue
        accepted += probability
        due += 1.0
        if (step - warmup) % thin == 0:
            at = (step - warmup) // thin
            logs[at] = old
            for i in range(dim):
                weights[at, i] = sds[i] * z[i]
    return accepted / due, beta


@fast_kernel
def _log_likelihood(theta, width, depth, kind, squash, x, y, sd, f, h, g):
    function_values(theta, width, depth, kind, squash, x, f, h, g)
    total = 0.0
    for i in range(x.size):
        total += (y[i] - f[i]) ** 2
    return -total / (2.0 * sd * sd)


def walk(
    prior: Prior,
    x: ArrayLike,
    y: ArrayLike,
    sd: float,
    *,
    chains: int = 4,
    steps: int = 20_000,
    warmup: int = 5_000,
    thin: int = 10,
    seed: int = 0,
) -> Walk:
    """Chains that sample the posterior of the networks; beta is tuned in the warm-up to accept one step in four."""
    x, y = _checked(x, y, sd, steps)
    kept = -(-steps // thin)
    weights, logs = np.empty((chains, kept, prior.dim)), np.empty((chains, kept))

    def chain(number: int) -> tuple[float, float]:
        # chunks of prior draws count from 0: chains take the numbers from the far end
        rng = stream(seed, 2**31 + number)
        settings = prior.width, prior.depth, *prior.codes, x, y, sd, 0.5, False, warmup, steps, thin
        start = rng.standard_normal(prior.dim)
        return _walk(rng, start, prior.sds(), *settings, weights[number], logs[number])

    ends = np.array(each(chain, range(chains)))
    return Walk(weights, logs, ends[:, 0], ends[:, 1], chains * (warmup + steps))


def walk_on(
    prior: Prior, theta: Array, x: Array, y: Array, sd: float, beta: float, steps: int, rng: np.random.Generator, unshrunk: bool = False
) -> tuple[Array, Array]:
    """`steps` steps of the walk from theta (dim,) with a fixed beta: weights (steps, dim) and log likelihoods (steps,)
    after each. unshrunk : forget the factor sqrt(1 - beta^2), wrong on purpose.
    """
    weights, logs = np.empty((steps, prior.dim)), np.empty(steps)
    settings = prior.width, prior.depth, *prior.codes, x, y, sd, beta, unshrunk, 0, steps, 1
    sds = prior.sds()
    start = np.divide(theta, sds, out=np.zeros_like(theta), where=sds > 0.0)
    _walk(rng, start, sds, *settings, weights, logs)
    return weights, logs


def _checked(x: ArrayLike, y: ArrayLike, sd: float, n: int) -> tuple[Array, Array]:
    x, y = (np.ascontiguousarray(values, dtype=np.float64) for values in (x, y))
    if x.ndim != 1 or x.shape != y.shape:
        raise SpecError("y", f"x has shape {x.shape} and y {y.shape}; both need one number a point")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise SpecError("x", "a point has a coordinate that is not finite")
    if not (np.isfinite(sd) and sd > 0):
        raise SpecError("sd", f"{sd} is not a positive number")
    if n < 1:
        raise SpecError("n", f"{n} is less than 1")
    return x, y
