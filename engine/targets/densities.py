"""Small helpers that the truths of the families share: one-dimensional densities and quadrature nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Density = Callable[[Array], Array]

LOG_2PI = float(np.log(2.0 * np.pi))


def normal_density(mean: float, sd: float) -> Density:
    """Density of N(mean, sd**2), vectorised."""

    def density(x: Array) -> Array:
        z = (np.asarray(x, dtype=np.float64) - mean) / sd
        return np.asarray(np.exp(-0.5 * (z * z + LOG_2PI)) / sd)

    return density


@lru_cache(maxsize=8)
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights (n,) of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (nodes + 1.0), 0.5 * weights
