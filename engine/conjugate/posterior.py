"""Posteriors of the conjugate pairs as targets: prior times likelihood, so that samplers can be held against the
formulas. No kernel here knows a posterior's hyperparameters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from engine.conjugate.beliefs import (
    Array,
    Belief,
    BetaBernoulli,
    DirichletCategorical,
    GammaExponential,
    GammaNormal,
    GammaPoisson,
    NormalGamma,
    NormalMean,
)
from engine.kernels import target_kernel
from engine.targets.target import Target, Truth

_ANY, _POSITIVE, _SHARE = range(3)  # where the unknown may lie
_HEAVY = 5.0  # a Student t with fewer degrees of freedom than twice this: averages of squares hang on a few draws


@target_kernel
def _one_unknown(q, grad, dim, data, ints, scratch):
    """a log t + b log(1 - t) + c t - d t**2 / 2. data: a, b, c, d of prior and likelihood. ints: support"""
    t = q[0]
    if (ints[0] >= 1 and not t > 0.0) or (ints[0] == 2 and not t < 1.0):
        return -math.inf
    c, d = data[2] + data[6], data[3] + data[7]
    value = c * t - 0.5 * d * t * t
    grad[0] = c - d * t
    if ints[0] >= 1:
        a = data[0] + data[4]
        value += a * math.log(t)
        grad[0] += a / t
    if ints[0] == 2:
        b = data[1] + data[5]
        value += b * math.log1p(-t)
        grad[0] -= b / (1.0 - t)
    return value


@target_kernel
def _mean_and_precision(q, grad, dim, data, ints, scratch):
    """q: mu, tau. data: prior m, kappa, alpha, beta; n, average, sum of squares around it"""
    tau = q[1]
    if not tau > 0.0:
        return -math.inf
    off, miss = q[0] - data[0], q[0] - data[5]
    power = data[2] - 0.5 + 0.5 * data[4]
    energy = data[3] + 0.5 * (data[1] * off * off + data[6] + data[4] * miss * miss)
    grad[0] = -tau * (data[1] * off + data[4] * miss)
    grad[1] = power / tau - energy
    return power * math.log(tau) - tau * energy


@target_kernel
def _shares(q, grad, dim, data, ints, scratch):
    """q: p_1 ... p_{K-1}. data: a_k - 1 (K), counts (K)"""
    rest = 1.0
    for k in range(dim):
        if not q[k] > 0.0:
            return -math.inf
        rest -= q[k]
    if not rest > 0.0:
        return -math.inf
    last = data[dim] + data[2 * dim + 1]
    value = last * math.log(rest)
    for k in range(dim):
        power = data[k] + data[dim + 1 + k]
        value += power * math.log(q[k])
        grad[k] = power / q[k] - last / rest
    return value


def posterior(prior: Belief, x: ArrayLike, *, truth: Belief | None = None) -> Target:
    """The posterior of `prior` and the observations `x` (m,) as a target. Not normalised.

    truth : the belief held to be the posterior, default `prior.update(x)`; a wrong one makes checks of draws fail
    """
    values = prior.observations(x)
    owner, data, ints = _ingredients(prior, values)
    after = prior.update(values)
    spread = np.sqrt(np.diag(after.covariance()))
    view = tuple((float(low), float(high)) for low, high in (after.quantile(i, [1e-4, 1.0 - 1e-4]) for i in range(prior.dim)))
    return Target(
        name=f"{type(prior).__name__} posterior",
        dim=prior.dim,
        owner=owner,
        data=data,
        ints=np.array([ints]),
        labels=prior.unknowns,
        view=(view[0], view[-1]) if np.all(np.isfinite(spread)) else ((-4.0, 4.0), (-4.0, 4.0)),
        truth=_truth(after if truth is None else truth),
    )


def _ingredients(prior: Belief, x: Array) -> tuple[object, Array, int]:
    """Kernel, its numbers, its support."""
    n, total = x.size, float(x.sum())
    if isinstance(prior, DirichletCategorical):
        return _shares, np.concatenate([np.array(prior.a) - 1.0, prior.counts(x)]), _ANY
    if isinstance(prior, NormalGamma):
        average = total / n if n else 0.0
        squares = float(((x - average) ** 2).sum())
        return (_mean_and_precision, np.array([prior.m, prior.kappa, prior.alpha, prior.beta, n, average, squares]), _ANY)
    zero = (0.0, 0.0)
    if isinstance(prior, NormalMean):
        p, w = 1.0 / prior.s**2, 1.0 / prior.sigma**2
        return _one_unknown, np.array([*zero, p * prior.m, p, *zero, w * total, w * n]), _ANY
    if isinstance(prior, BetaBernoulli):
        numbers = np.array([prior.alpha - 1.0, prior.beta - 1.0, *zero, total, n - total, *zero])
        return _one_unknown, numbers, _SHARE
    if isinstance(prior, GammaPoisson):
        likelihood = (total, -float(n))
    elif isinstance(prior, GammaExponential):
        likelihood = (float(n), -total)
    elif isinstance(prior, GammaNormal):
        likelihood = (0.5 * n, -0.5 * float(((x - prior.centre) ** 2).sum()))
    else:
        raise TypeError(f"{type(prior).__name__} has no target")
    power, slope = likelihood
    return (_one_unknown, np.array([prior.alpha - 1.0, 0.0, -prior.beta, 0.0, power, 0.0, slope, 0.0]), _POSITIVE)


def _truth(after: Belief) -> Truth:
    marginals = tuple(_Marginal(after, i) for i in range(after.dim))
    heavy = isinstance(after, NormalGamma) and after.alpha < _HEAVY
    return Truth(after.mean(), after.covariance(), marginals, draw=after.draw, heavy_tails=heavy)


class _Marginal:
    """The density of one unknown."""

    def __init__(self, belief: Belief, unknown: int):
        self.belief, self.unknown = belief, unknown

    def __call__(self, at: Array) -> Array:
        return self.belief.marginal(self.unknown, at)
