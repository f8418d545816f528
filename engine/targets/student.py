"""Heavy tail: multivariate Student t."""

from __future__ import annotations

import math

import numpy as np

from engine.kernels import target_kernel
from engine.targets.densities import Array, Density
from engine.targets.target import Target, TargetError, Truth


@target_kernel
def _student(q, grad, dim, data, ints, scratch):
    """data: log constant, dof"""
    dof = data[1]
    total = 0.0
    for j in range(dim):
        total += q[j] * q[j]
    pull = (dof + dim) / (dof + total)
    for j in range(dim):
        grad[j] = -pull * q[j]
    return data[0] - 0.5 * (dof + dim) * math.log1p(total / dof)


def student(*, dimension: int = 2, dof: float = 3.0) -> Target:
    """Multivariate Student t around 0 with unit scale: x = z * sqrt(dof / chi2(dof)), z ~ N(0, I). Every marginal is a
    Student t.

    dimension : >= 1
    dof : degrees of freedom, > 0; the smaller, the heavier the tail

    Normalised. The truth is exact. Moments that do not exist are NaN and infinite ones are inf: the variance is inf
    for dof <= 2 (the covariances between coordinates are then NaN), and everything is NaN for dof <= 1, where not even
    a mean exists.
    """
    if not (dimension >= 1 and 0.0 < dof < math.inf):
        raise TargetError(f"no Student t has dimension {dimension} and dof {dof:g}")
    mean = np.full(dimension, 0.0 if dof > 1.0 else math.nan)
    if dof > 2.0:
        covariance = np.eye(dimension) * (dof / (dof - 2.0))
    else:
        covariance = np.full((dimension, dimension), math.nan)
        if dof > 1.0:
            np.fill_diagonal(covariance, math.inf)

    def draw(rng: np.random.Generator, n: int) -> Array:
        return rng.standard_normal((n, dimension)) * np.sqrt(dof / rng.chisquare(dof, (n, 1)))

    half = 4.0 + 4.0 / dof
    return Target(
        name="student",
        dim=dimension,
        owner=_student,
        data=np.array([_log_constant(dimension, dof), dof]),
        ints=np.zeros(1, dtype=np.int64),
        view=((-half, half), (-half, half)),
        truth=Truth(mean, covariance, (_student_density(dof),) * dimension, log_normaliser=0.0, draw=draw, heavy_tails=dof <= 8.0),
        plane=student(dof=dof) if dimension > 2 else None,
    )


def _log_constant(dimension: int, dof: float) -> float:
    return math.lgamma(0.5 * (dof + dimension)) - math.lgamma(0.5 * dof) - 0.5 * dimension * math.log(dof * math.pi)


def _student_density(dof: float) -> Density:
    log_constant = _log_constant(1, dof)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        return np.asarray(np.exp(log_constant - 0.5 * (dof + 1.0) * np.log1p(at * at / dof)))

    return density
