"""Nested linear Gaussian models: a ladder of models whose posterior probabilities are known in closed form.

Model k = 1..K has k parameters, `y = X_k theta + noise`, noise ~ N(0, noise_sd^2), theta ~ N(0, prior_sd^2 I). Then
`log p(y | k) = log N(y; 0, noise_sd^2 I + prior_sd^2 X_k X_k')`, and given k the posterior of theta is Gaussian. A jump
from k to k + 1 is one linear map: `theta' = A_k (theta, u)`, `u ~ N(0, 1)`, with Jacobian `|det A_k|` everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Nested(NamedTuple):
    """K nested models, as the kernel reads them. Row k - 1 belongs to model k; what lies beyond its k parameters is 0.

    gram : (K, K, K), X'X / noise_sd^2
    moment : (K, K), X'y / noise_sd^2
    log_constant : log likelihood = log_constant + moment . theta - theta' gram theta / 2
    prior_precision : 1 / prior_sd^2
    mean : (K, K), posterior mean of theta
    root : (K, K, K), lower triangular R, posterior covariance R R'
    maps : (K - 1, K, K), A_k in the upper left (k + 1, k + 1)
    inverses : (K - 1, K, K), its inverse
    log_jacobian : (K - 1,), log |det A_k|
    log_prior : (K,), log p(k), normalised
    log_evidence : (K,), log p(y | k)
    """

    gram: Array
    moment: Array
    log_constant: float
    prior_precision: float
    mean: Array
    root: Array
    maps: Array
    inverses: Array
    log_jacobian: Array
    log_prior: Array
    log_evidence: Array


def nested(designs: list[Array], y: Array, maps: list[Array], log_prior: Array, *, noise_sd: float, prior_sd: float) -> Nested:
    """Solve the models exactly.

    designs : X_k (n, k) for k = 1..K; n = 0 leaves the prior
    y : (n,)
    maps : A_k (k + 1, k + 1) for k = 1..K - 1
    log_prior : (K,), up to a constant
    noise_sd, prior_sd : > 0, in units of y
    """
    K = len(designs)
    gram, moment, mean, root = np.zeros((K, K, K)), np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K, K))
    padded, inverses = np.zeros((K - 1, K, K)), np.zeros((K - 1, K, K))
    log_jacobian, log_evidence = np.zeros(K - 1), np.zeros(K)
    log_constant = -0.5 * float(y @ y) / noise_sd**2 - 0.5 * len(y) * math.log(2 * math.pi * noise_sd**2)
    for i, X in enumerate(designs):
        k = i + 1
        gram[i, :k, :k], moment[i, :k] = X.T @ X / noise_sd**2, X.T @ y / noise_sd**2
        precision = gram[i, :k, :k] + np.eye(k) / prior_sd**2
        covariance = np.linalg.inv(precision)
        mean[i, :k] = covariance @ moment[i, :k]
        root[i, :k, :k] = np.linalg.cholesky(0.5 * (covariance + covariance.T))
        log_determinant = np.linalg.slogdet(prior_sd**2 * precision)[1]
        log_evidence[i] = log_constant - 0.5 * log_determinant + 0.5 * moment[i, :k] @ mean[i, :k]
    for i, A in enumerate(maps):
        padded[i, : i + 2, : i + 2], inverses[i, : i + 2, : i + 2] = A, np.linalg.inv(A)
        log_jacobian[i] = np.linalg.slogdet(A)[1]
    normalised = log_prior - np.logaddexp.reduce(log_prior)
    return Nested(gram, moment, log_constant, 1.0 / prior_sd**2, mean, root, padded, inverses, log_jacobian, normalised, log_evidence)


def group_designs(n: int, groups: int) -> list[Array]:
    """X_k of k means over `groups` runs of observations (n,): the first groups - k + 1 of them share the first mean."""
    group = np.arange(n) * groups // n
    return [np.eye(k)[np.maximum(group - (groups - k), 0)] for k in range(1, groups + 1)]


def split_maps(groups: int, spread: float) -> list[Array]:
    """A_k of the split of the first mean: `(m, ..., u) -> (m - spread u, m + spread u, ...)`, Jacobian 2 spread."""
    maps = []
    for k in range(1, groups):
        A = np.zeros((k + 1, k + 1))
        A[:2, 0], A[:2, k] = 1.0, (-spread, spread)
        A[2:, 1:k] = np.eye(k - 1)
        maps.append(A)
    return maps


def legendre_designs(x: Array, models: int) -> list[Array]:
    """X_k of a polynomial of degree k - 1 in x (n,) in [-1, 1], written in Legendre polynomials P_0, ..., P_{k-1}."""
    table = np.asarray(np.polynomial.legendre.legvander(x, models - 1), dtype=np.float64)
    return [table[:, :k] for k in range(1, models + 1)]


def append_maps(models: int, spread: float) -> list[Array]:
    """A_k of one more coefficient: `(theta, u) -> (theta, spread u)`, Jacobian spread."""
    return [np.diag([1.0] * k + [spread]) for k in range(1, models)]
