"""The variational family: a normal distribution over the unconstrained coordinates.

zeta = mean + L epsilon, epsilon ~ N(0, I). Its parameters lie in one flat array: the mean (dim,), gamma (dim,) with
L_ii = exp(gamma_i), and for a full-rank q the entries of L below the diagonal, row by row. Without those q is
mean-field: exp(gamma) are its standard deviations and exp(2 gamma) its variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError
from engine.targets.densities import LOG_2PI
from engine.variational.transforms import Transform, constrained, unconstrained

Array = NDArray[np.float64]

FAMILIES = ("mean_field", "full_rank")


def size(family: str, dim: int) -> int:
    """How many parameters q has. Raises SpecError for an unknown family."""
    if family not in FAMILIES:
        raise SpecError("family", f"{family!r} is not one of {', '.join(FAMILIES)}")
    return 2 * dim + (dim * (dim - 1) // 2 if family == "full_rank" else 0)


def pack(mean: Array, root: Array, family: str) -> Array:
    """The flat parameters of q. mean (dim,), root (dim, dim) lower triangular with a positive diagonal."""
    diagonal = np.diag(root)
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(root)) and np.all(diagonal > 0.0)):
        raise SpecError("init_sd", "mean and sd must be finite, every sd above 0")
    below = root[np.tril_indices(mean.size, -1)] if family == "full_rank" else np.zeros(0)
    return np.concatenate([mean, np.log(diagonal), below])


def unpack(parameters: Array, dim: int) -> tuple[Array, Array]:
    """Mean (..., dim) and root L (..., dim, dim) of parameters (..., P)."""
    parameters = np.asarray(parameters, dtype=np.float64)
    root = np.zeros((*parameters.shape[:-1], dim, dim))
    index = np.arange(dim)
    with np.errstate(over="ignore"):
        root[..., index, index] = np.exp(parameters[..., dim : 2 * dim])
    if parameters.shape[-1] > 2 * dim:
        rows, columns = np.tril_indices(dim, -1)
        root[..., rows, columns] = parameters[..., 2 * dim :]
    return parameters[..., :dim], root


@dataclass(frozen=True, eq=False)
class Approximation:
    """q, a normal over zeta pushed through the transform to theta.

    mean (dim,), root (dim, dim) : of zeta
    maps : the transform
    """

    mean: Array
    root: Array
    maps: Transform

    @property
    def covariance(self) -> Array:
        """(dim, dim), of zeta."""
        return np.asarray(self.root @ self.root.T)

    @property
    def sd(self) -> Array:
        """(dim,), of zeta."""
        return np.sqrt((self.root**2).sum(axis=1))

    @property
    def entropy(self) -> float:
        """Of q over zeta."""
        return float(np.log(np.diag(self.root)).sum()) + 0.5 * self.mean.size * (1.0 + LOG_2PI)

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Independent draws of theta (n, dim)."""
        zeta = self.mean + rng.standard_normal((n, self.mean.size)) @ self.root.T
        return constrained(self.maps, zeta)[0]

    def log_density(self, theta: ArrayLike) -> Array:
        """log q at rows of theta (n, dim), as a density over theta; -inf outside the support."""
        zeta = unconstrained(self.maps, np.atleast_2d(np.asarray(theta, dtype=np.float64)))
        inside = np.all(np.isfinite(zeta), axis=1)
        zeta = np.where(inside[:, None], zeta, self.mean)
        z = np.linalg.solve(self.root, (zeta - self.mean).T)
        log_q = -0.5 * (z**2).sum(axis=0) - np.log(np.diag(self.root)).sum() - 0.5 * self.mean.size * LOG_2PI
        return np.where(inside, log_q - constrained(self.maps, zeta)[1], -np.inf)
