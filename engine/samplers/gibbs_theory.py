"""What theory says of Gibbs sampling where it can be worked out: how fast it forgets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def gaussian_autocorrelation(correlation: float, lags: int, *, scan: str = "systematic", blocked: bool = False) -> Array:
    """(lags + 1,) autocorrelation of a coordinate of a bivariate Gaussian, draw by draw; a draw is a sweep of two
    updates, of both coordinates in order (scan "systematic") or of two at random ("random"); blocked : of both at once.

    In order, each sweep multiplies the expectation by ρ². At random, an update is the matrix ½[[1, ρ], [ρ, 1]], whose
    eigenvalues are (1 ± ρ)/2.
    """
    k = np.arange(lags + 1, dtype=float)
    if blocked:
        return (k == 0).astype(float)
    if scan == "systematic":
        return np.asarray(correlation ** (2 * k))
    plus, minus = 0.5 * (1 + correlation), 0.5 * (1 - correlation)
    return np.where(k == 0, 1.0, plus ** (2 * k + 1) + minus ** (2 * k + 1))


def gaussian_efficiency(correlation: ArrayLike) -> Array:
    """Effective draws per sweep of systematic Gibbs on a bivariate Gaussian: 1 / (1 + 2 Σ ρ^2k)."""
    square = np.asarray(correlation, dtype=np.float64) ** 2
    return np.asarray((1.0 - square) / (1.0 + square))


def normal_gamma_lag_one(shape: float) -> float:
    """Lag-one autocorrelation of the precision τ of a Normal-Gamma under systematic Gibbs: 1 / (2 shape + 3).

    It is Var(E[τ | μ]) / Var(τ). Given μ, τ has mean (a + ½) B / b with B ~ Beta(a, ½), a and b its shape and rate.
    """
    return 1.0 / (2.0 * shape + 3.0)
