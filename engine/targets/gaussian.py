"""Correlated Gaussian, in two forms: an autoregressive one in O(dim) for any dimension, and a general dense one."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from engine.kernels import target_kernel
from engine.targets.densities import LOG_2PI, Array, normal_density
from engine.targets.target import NORMAL, Conditionals, Draw, Target, TargetError, Truth


@target_kernel
def _autoregressive(q, grad, dim, data, ints, scratch):
    """data: log constant, correlation r, 1 / (1 - r**2), then 1 / sd of every coordinate."""
    correlation, precision = data[1], data[2]
    before = q[0] * data[3]
    value = data[0] - 0.5 * before * before
    grad[0] = -before * data[3]
    for j in range(1, dim):
        z = q[j] * data[3 + j]
        surprise = z - correlation * before
        pull = surprise * precision
        value -= 0.5 * surprise * pull
        grad[j] = -pull * data[3 + j]
        grad[j - 1] += correlation * pull * data[2 + j]
        before = z
    return value


@target_kernel
def _autoregressive_conditional(q, out, coordinate, data, ints, scratch):
    """N(mean, sd**2) of a coordinate given its neighbours; from `dim` on, given the one before alone. ints: dim. See
    `Conditionals`.
    """
    dim, correlation = ints[0], data[1]
    j = coordinate % dim
    forward = coordinate >= dim
    alone = j == 0 and (forward or dim == 1)
    neighbours, pull = 0.0, 0.0
    if j > 0:
        pull += q[j - 1] * data[2 + j]
        neighbours += 1.0
    if j < dim - 1 and not forward:
        pull += q[j + 1] * data[4 + j]
        neighbours += 1.0
    spread = 1.0 - correlation * correlation
    if alone:
        spread = 1.0
    elif neighbours == 2.0:
        spread /= 1.0 + correlation * correlation
        pull /= 1.0 + correlation * correlation
    out[0] = correlation * pull / data[3 + j]
    out[1] = math.sqrt(spread) / data[3 + j]
    return NORMAL


@target_kernel
def _dense(q, grad, dim, data, ints, scratch):
    """data: log constant, mean (dim), precision matrix (dim * dim). scratch: (dim,)"""
    for j in range(dim):
        scratch[j] = q[j] - data[1 + j]
    value = data[0]
    for i in range(dim):
        row = 1 + dim + i * dim
        total = 0.0
        for j in range(dim):
            total += data[row + j] * scratch[j]
        grad[i] = -total
        value -= 0.5 * total * scratch[i]
    return value


def gaussian(*, dimension: int = 2, correlation: float = 0.8, scale_ratio: float = 1.0) -> Target:
    """Gaussian with mean 0 and correlation `correlation ** |i - j|` between coordinates i and j.

    dimension : number of coordinates, >= 1
    correlation : in (-1, 1). In two dimensions it is the plain correlation; in more, the chain x1 -> x2 -> ... is a
        first-order autoregression, whose precision matrix is tridiagonal, so that an evaluation costs O(dimension).
    scale_ratio : standard deviation of the first coordinate over that of the last, > 0. They run geometrically from 1
        to 1 / scale_ratio.

    Normalised. The truth is exact.
    """
    if not (dimension >= 1 and -1.0 < correlation < 1.0 and 0.0 < scale_ratio < math.inf):
        raise TargetError(f"no Gaussian has dimension {dimension}, correlation {correlation:g} and scale ratio {scale_ratio:g}")
    sd = scale_ratio ** -np.linspace(0.0, 1.0, dimension) if dimension > 1 else np.ones(1)
    precision = 1.0 / (1.0 - correlation * correlation)
    log_constant = -0.5 * dimension * LOG_2PI - float(np.log(sd).sum()) + 0.5 * (dimension - 1) * math.log(precision)
    index = np.arange(dimension)
    covariance = np.outer(sd, sd) * np.power(float(correlation), np.abs(index[:, None] - index))
    half = 3.5 * float(sd[:2].max())  # the same for both axes: a narrow direction must look narrow
    return Target(
        name="gaussian",
        dim=dimension,
        owner=_autoregressive,
        data=np.concatenate([[log_constant, correlation, precision], 1.0 / sd]),
        ints=np.array([dimension]),
        view=((-half, half), (-half, half)),
        truth=Truth(
            np.zeros(dimension),
            covariance,
            tuple(normal_density(0.0, s) for s in sd.tolist()),
            log_normaliser=0.0,
            draw=_draws(np.zeros(dimension), covariance),
        ),
        plane=gaussian(correlation=correlation, scale_ratio=sd[0] / sd[1]) if dimension > 2 else None,
        conditionals=Conditionals(_autoregressive_conditional, blocked=True),
    )


def dense_gaussian(mean: ArrayLike, covariance: ArrayLike) -> Target:
    """Gaussian with any mean (dim,) and covariance (dim, dim). Normalised; the truth is exact.

    Raises TargetError when the covariance is not symmetric positive definite or does not fit the mean.
    """
    centre = np.atleast_1d(np.asarray(mean, dtype=np.float64))
    matrix = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    dim = centre.size
    if centre.ndim != 1 or matrix.shape != (dim, dim):
        raise TargetError(f"a mean of shape {centre.shape} needs a covariance of shape ({dim}, {dim}), got {matrix.shape}")
    if not (np.all(np.isfinite(centre)) and np.all(np.isfinite(matrix)) and np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0)):
        raise TargetError("mean and covariance must be finite, and the covariance symmetric")
    try:
        root = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise TargetError("the covariance is not positive definite") from None
    precision = np.linalg.inv(matrix)
    log_constant = -0.5 * dim * LOG_2PI - float(np.log(np.diag(root)).sum())
    sd = np.sqrt(np.diag(matrix))
    half = 3.5 * float(sd[:2].max())
    first, second = float(centre[0]), float(centre[min(1, dim - 1)])
    return Target(
        name="dense_gaussian",
        dim=dim,
        owner=_dense,
        data=np.concatenate([[log_constant], centre, 0.5 * (precision + precision.T).ravel()]),
        ints=np.zeros(1, dtype=np.int64),
        scratch_size=dim,
        view=((first - half, first + half), (second - half, second + half)),
        truth=Truth(
            centre.copy(),
            matrix.copy(),
            tuple(normal_density(m, s) for m, s in zip(centre.tolist(), sd.tolist(), strict=True)),
            log_normaliser=0.0,
            draw=_draws(centre, matrix),
        ),
    )


def _draws(mean: Array, covariance: Array) -> Draw:
    root = np.linalg.cholesky(covariance)
    return lambda rng, n: mean + rng.standard_normal((n, mean.size)) @ root.T
