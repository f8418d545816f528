"""The posterior of infinitely wide networks: the Gaussian process of their prior, given data with normal noise.

With K the kernel at the inputs of the data and k* that between them and an input x*:
    mean f(x*) = k*' (K + sigma^2 I)^-1 y, variance = k(x*, x*) - k*' (K + sigma^2 I)^-1 k*

Sources: Neal 1996, chapter 2; Williams 1998; Rasmussen and Williams 2006, algorithm 2.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.networks.prior import Prior
from engine.spec import SpecError

Array = NDArray[np.float64]


class LimitPosterior(NamedTuple):
    """Mean and standard deviation (m,) of f at m inputs, without the noise of an observation."""

    mean: Array
    sd: Array


def limit_posterior(prior: Prior, x: ArrayLike, y: ArrayLike, noise_sd: float, at: ArrayLike) -> LimitPosterior:
    """The posterior of f at inputs `at` (m,), in the limit of wide layers, given y (n,) at inputs x (n,).

    The width of `prior` plays no part where its weights are divided by its root. Raises SpecError for a squashed output,
    whose law is not Gaussian, and for noise that is not above 0.
    """
    if prior.squash != "none":
        raise SpecError("squash", "a network with an activation at its output does not become a Gaussian process")
    if not 0.0 < noise_sd < math.inf:
        raise SpecError("noise_sd", "must be above 0")
    x, y, at = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (x, y, at))
    if x.shape != y.shape:
        raise SpecError("y", f"{len(y)} values for {len(x)} inputs")
    root = np.linalg.cholesky(prior.covariance(x, x) + noise_sd**2 * np.eye(len(x)))
    across = np.linalg.solve(root, prior.covariance(x, at))  # (n, m)
    variance = prior.variance(at) - np.einsum("nm,nm->m", across, across)
    return LimitPosterior(across.T @ np.linalg.solve(root, y), np.sqrt(np.maximum(variance, 0.0)))
