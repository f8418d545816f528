"""Targets whose log density is a prior and a sum over rows of data, so that a minibatch can stand for all rows.

Their kernels hold n, B and then row numbers in `ints`: they return log prior + (n / B) * the sum of the log likelihoods
of the first B rows listed. A target as built lists all rows, B = n, and is the exact posterior for every sampler. With
B rows drawn without replacement, value and gradient are unbiased.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import target_kernel
from engine.linear import solve
from engine.spec import SpecError
from engine.targets.densities import LOG_2PI
from engine.targets.gaussian import dense_gaussian
from engine.targets.target import Target, Truth

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowTarget(Target):
    """A target with `rows` rows of data, whose `ints` are laid out as above."""

    rows: int = 0


@target_kernel
def _linear(q, grad, dim, data, ints, scratch):
    """data: noise precision, its log / 2 - log(2 pi) / 2, prior precision, its log / 2 - log(2 pi) / 2, then y and x of
    every row.
    """
    value = 0.0
    for j in range(dim):
        value += data[3] - 0.5 * data[2] * q[j] * q[j]
        grad[j] = -data[2] * q[j]
    scale = ints[0] / ints[1]
    for b in range(ints[1]):
        at = 4 + ints[2 + b] * (dim + 1)
        off = data[at]
        for j in range(dim):
            off -= data[at + 1 + j] * q[j]
        value += scale * (data[1] - 0.5 * data[0] * off * off)
        for j in range(dim):
            grad[j] += scale * data[0] * off * data[at + 1 + j]
    return value


@target_kernel
def _logistic(q, grad, dim, data, ints, scratch):
    """data: prior precision, its log / 2 - log(2 pi) / 2, then y (0 or 1) and x of every row."""
    value = 0.0
    for j in range(dim):
        value += data[1] - 0.5 * data[0] * q[j] * q[j]
        grad[j] = -data[0] * q[j]
    scale = ints[0] / ints[1]
    for b in range(ints[1]):
        at = 2 + ints[2 + b] * (dim + 1)
        eta = 0.0
        for j in range(dim):
            eta += data[at + 1 + j] * q[j]
        small = math.exp(-abs(eta))
        probability = 1.0 / (1.0 + small) if eta > 0.0 else small / (1.0 + small)
        value += scale * ((data[at] - 1.0) * eta - math.log1p(small) + min(eta, 0.0))
        for j in range(dim):
            grad[j] += scale * (data[at] - probability) * data[at + 1 + j]
    return value


def linear_regression(x: ArrayLike, y: ArrayLike, *, noise_sd: float = 1.0, prior_sd: float = 1.0) -> RowTarget:
    """y = x q + N(0, noise_sd**2), q ~ N(0, prior_sd**2 I); x (n, dim), y (n,). For an intercept give a column of ones.

    The truth is exact; its log_normaliser is log p(y | x). Raises SpecError when x or y does not fit.
    """
    X, values = _table(x, y)
    n, dim = X.shape
    exact = solve(X, values, noise_sd=noise_sd, prior_sd=prior_sd)
    covariance = exact.root @ exact.root.T
    covariance = 0.5 * (covariance + covariance.T)
    gaussian = dense_gaussian(exact.mean, covariance)
    assert gaussian.truth is not None
    numbers = [noise_sd**-2.0, _half(noise_sd), prior_sd**-2.0, _half(prior_sd)]
    truth = Truth(exact.mean, covariance, gaussian.truth.marginals, log_normaliser=exact.log_evidence, draw=gaussian.truth.draw)
    return RowTarget(
        name="linear_regression",
        dim=dim,
        owner=_linear,
        data=_flat(numbers, X, values),
        ints=_all_rows(n),
        labels=_labels(dim),
        view=gaussian.view,
        truth=truth,
        rows=n,
    )


def logistic_regression(x: ArrayLike, y: ArrayLike, *, prior_sd: float = 1.0) -> RowTarget:
    """y ~ Bernoulli(1 / (1 + exp(-x q))), q ~ N(0, prior_sd**2 I); x (n, dim), y (n,) of 0 and 1. For an intercept give
    a column of ones.
    """
    X, values = _table(x, y)
    _above("prior_sd", prior_sd)
    if not np.all((values == 0.0) | (values == 1.0)):
        raise SpecError("y", "every entry must be 0 or 1")
    n, dim = X.shape
    return RowTarget(
        name="logistic_regression",
        dim=dim,
        owner=_logistic,
        data=_flat([prior_sd**-2.0, _half(prior_sd)], X, values),
        ints=_all_rows(n),
        labels=_labels(dim),
        rows=n,
    )


def _table(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    X, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or values.shape != X.shape[:1] or not X.size:
        raise SpecError("x", f"x must be (n, dim) and y (n,), got {X.shape} and {values.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(values))):
        raise SpecError("x", "x and y must be finite")
    return X, values


def _above(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise SpecError(name, f"{value!r} is not a number above 0")


def _half(sd: float) -> float:
    return -math.log(sd) - 0.5 * LOG_2PI


def _flat(numbers: list[float], x: Array, y: Array) -> Array:
    return np.concatenate([numbers, np.column_stack([y, x]).ravel()])


def _all_rows(n: int) -> NDArray[np.int64]:
    return np.concatenate([[n, n], np.arange(n)])


def _labels(dim: int) -> tuple[str, ...]:
    return tuple("β" + str(j).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")) for j in range(dim))
