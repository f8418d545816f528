"""Regression in which every predictor is in or out: gamma_j ~ Bernoulli(inclusion_j); where gamma_j = 1, beta_j ~
N(0, slab_sd**2) (the slab), else beta_j = 0 (the spike).

y ~ N(eta, noise_sd**2) or y ~ Bernoulli(1 / (1 + exp(-eta))), eta = intercept + x beta. The intercept is always in and
has the prior N(0, intercept_sd**2).

Given gamma, and for the logistic model given the Polya-Gamma weights of Polson, Scott and Windle (2013), the
coefficients are Gaussian: everything hangs on the matrix X' Omega X and the vector X' kappa of the columns that are in,
with Omega = I / noise_sd**2 and kappa = y / noise_sd**2, or kappa = y - 1/2 and Omega the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import fast_kernel
from engine.spec import SpecError
from engine.targets.densities import LOG_2PI

Array = NDArray[np.float64]

LIKELIHOODS = ("linear", "logistic")


@dataclass(frozen=True, eq=False)
class SpikeAndSlab:
    """A model with its data; make it with `spike_and_slab`. n rows, p predictors, K = p + 1 columns with an intercept.

    design : (n, K), the column of ones first where there is an intercept
    y : (n,)
    precision : (K,), 1 / prior variance of each coefficient that is in
    log_odds : (p,), log(inclusion / (1 - inclusion))
    likelihood : "linear" or "logistic"
    noise_sd : of the linear model
    """

    design: Array
    y: Array
    precision: Array
    log_odds: Array
    likelihood: str
    noise_sd: float

    @property
    def predictors(self) -> int:
        return int(self.log_odds.size)

    @property
    def always(self) -> int:
        """Columns that are never out: 1 with an intercept, else 0."""
        return self.design.shape[1] - self.predictors

    @property
    def moment(self) -> Array:
        """(K,), X' kappa."""
        kappa = self.y / self.noise_sd**2 if self.likelihood == "linear" else self.y - 0.5
        return np.asarray(self.design.T @ kappa)

    @property
    def log_constant(self) -> float:
        """Of the linear model: what its log evidences have in common."""
        n = self.y.size
        return -0.5 * n * (LOG_2PI + 2.0 * math.log(self.noise_sd)) - 0.5 * float(self.y @ self.y) / self.noise_sd**2

    @property
    def inclusion(self) -> Array:
        """(p,), prior probability of each predictor."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.log_odds)))


def spike_and_slab(
    x: ArrayLike,
    y: ArrayLike,
    *,
    likelihood: str = "linear",
    inclusion: ArrayLike = 0.5,
    slab_sd: float = 1.0,
    noise_sd: float = 1.0,
    intercept: bool = True,
    intercept_sd: float = 10.0,
) -> SpikeAndSlab:
    """The model for x (n, p) and y (n,); y of 0 and 1 for "logistic".

    inclusion : prior probability of each predictor, a number or (p,), inside (0, 1)

    Raises SpecError naming what is wrong.
    """
    X, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or not X.size or values.shape != X.shape[:1]:
        raise SpecError("x", f"x must be (n, p) and y (n,), got {X.shape} and {values.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(values))):
        raise SpecError("x", "x and y must be finite")
    if likelihood not in LIKELIHOODS:
        raise SpecError("likelihood", f"{likelihood!r} is not one of {', '.join(LIKELIHOODS)}")
    if likelihood == "logistic" and not np.all((values == 0.0) | (values == 1.0)):
        raise SpecError("y", "every entry must be 0 or 1")
    for name, value in (("slab_sd", slab_sd), ("noise_sd", noise_sd), ("intercept_sd", intercept_sd)):
        if not 0.0 < value < math.inf:
            raise SpecError(name, f"{value!r} is not a number above 0")
    p = X.shape[1]
    prior = np.asarray(inclusion, dtype=np.float64)
    if prior.shape not in ((), (p,)) or not np.all((prior > 0.0) & (prior < 1.0)):
        raise SpecError("inclusion", f"must be a probability above 0 and below 1, or {p} of them")
    prior = np.broadcast_to(prior, (p,))
    precision = np.full(p, slab_sd**-2.0)
    if intercept:
        X, precision = np.column_stack([np.ones(len(X)), X]), np.append(intercept_sd**-2.0, precision)
    log_odds = np.log(prior) - np.log1p(-prior)
    return SpikeAndSlab(np.ascontiguousarray(X), values, precision, log_odds, likelihood, float(noise_sd))


@fast_kernel
def factorise(gram, moment, precision, index, k, root, half):
    """Cholesky root (k, k) of X' Omega X + prior precision over the columns index[:k], and half = root^-1 X' kappa.

    Returns the log evidence up to a constant: log of the integral of exp(b' beta - beta' (G + P) beta / 2) times the
    prior's normaliser.
    """
    value = 0.0
    for i in range(k):
        a = index[i]
        for j in range(i + 1):
            total = gram[a, index[j]]
            if i == j:
                total += precision[a]
            for m in range(j):
                total -= root[i, m] * root[j, m]
            root[i, j] = math.sqrt(total) if i == j else total / root[j, j]
        total = moment[a]
        for m in range(i):
            total -= root[i, m] * half[m]
        half[i] = total / root[i, i]
        value += 0.5 * half[i] * half[i] - math.log(root[i, i]) + 0.5 * math.log(precision[a])
    return value


@fast_kernel
def back_substitute(root, k, half, out):
    """out = root^-T half, the first k entries."""
    for i in range(k - 1, -1, -1):
        total = half[i]
        for m in range(i + 1, k):
            total -= root[m, i] * out[m]
        out[i] = total / root[i, i]
