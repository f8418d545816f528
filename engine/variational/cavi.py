"""Coordinate ascent: q factorises, and each factor in turn is set to its exact optimum given the others.

The optimum of a factor is q_j ∝ exp(E over the other factors of log p(theta, y)); for conjugate pairs it stays in its
family, so every update and the ELBO are closed forms, and no update can lower the ELBO.

Sources: Bishop, Pattern Recognition and Machine Learning, sections 10.1.2 and 10.1.3; Steyn 2018, chapter 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.conjugate.beliefs import NormalGamma
from engine.spec import SpecError
from engine.targets.densities import LOG_2PI

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianAscent:
    """Coordinate ascent on a Gaussian: U updates of one coordinate each.

    mean : (U + 1, dim) of q; row 0 is the start
    sd : (U + 1, dim)
    coordinate : (U,) int64, updated between rows u and u + 1
    energy, entropy : (U + 1,); the ELBO is their sum
    log_evidence : of the target, which is log_normaliser as given; the gap to it is KL(q‖p)
    """

    mean: Array
    sd: Array
    coordinate: NDArray[np.int64]
    energy: Array
    entropy: Array
    log_evidence: float

    @property
    def elbo(self) -> Array:
        """(U + 1,)"""
        return self.energy + self.entropy


def ascend_gaussian(
    mean: ArrayLike, covariance: ArrayLike, *, start: ArrayLike, start_sd: ArrayLike = 1.0, sweeps: int = 10, log_normaliser: float = 0.0
) -> GaussianAscent:
    """Fit a product of normals to exp(log_normaliser) N(mean, covariance), one coordinate after the other.

    With the precision matrix P of the target, coordinate j becomes N(m_j, 1 / P_jj), where
    m_j = mean_j - sum_{k≠j} P_jk (m_k - mean_k) / P_jj. Its sd never changes again: 1 / sqrt(P_jj) is the sd of the
    coordinate *given* the others, smaller than its own sd wherever coordinates are correlated.

    start, start_sd : (dim,) or a number, of q before the first update; sweeps : over all coordinates
    """
    centre = np.atleast_1d(np.asarray(mean, dtype=np.float64))
    dim = centre.size
    matrix = np.asarray(covariance, dtype=np.float64).reshape(dim, dim)
    precision = np.linalg.inv(matrix)
    log_constant = log_normaliser + 0.5 * (float(np.linalg.slogdet(precision)[1]) - dim * LOG_2PI)
    m = np.array(np.broadcast_to(np.asarray(start, dtype=np.float64), (dim,)))
    s = np.array(np.broadcast_to(np.asarray(start_sd, dtype=np.float64), (dim,)))
    if not (np.all(np.isfinite(m)) and np.all(s > 0.0) and np.all(np.isfinite(s))):
        raise SpecError("start", "must be finite, with sds above 0")
    means, sds = [m.copy()], [s.copy()]
    order = np.tile(np.arange(dim), sweeps)
    for j in order:
        off = m - centre
        off[j] = 0.0
        m[j] = centre[j] - precision[j] @ off / precision[j, j]
        s[j] = 1.0 / math.sqrt(precision[j, j])
        means.append(m.copy())
        sds.append(s.copy())
    path, spread = np.array(means), np.array(sds)
    off = path - centre
    squares = np.einsum("ui,ij,uj->u", off, precision, off) + spread**2 @ np.diag(precision)
    return GaussianAscent(
        path, spread, order, log_constant - 0.5 * squares, np.log(spread).sum(axis=1) + 0.5 * dim * (1.0 + LOG_2PI), log_normaliser
    )


@dataclass(frozen=True, eq=False)
class NormalGammaAscent:
    """Coordinate ascent on the mean mu and the precision tau of normal data: U updates, mu and tau in turn.

    mean, sd : (U + 1,) of q(mu) = N(mean, sd**2); row 0 is the start
    shape, rate : (U + 1,) of q(tau) = Gamma(shape, rate)
    coordinate : (U,) int64, 0 for mu, 1 for tau: updated between rows u and u + 1
    energy, entropy : (U + 1,); the ELBO is their sum
    log_evidence : log p(y), exact
    posterior : the exact one, a Normal-Gamma
    """

    mean: Array
    sd: Array
    shape: Array
    rate: Array
    coordinate: NDArray[np.int64]
    energy: Array
    entropy: Array
    log_evidence: float
    posterior: NormalGamma

    @property
    def elbo(self) -> Array:
        """(U + 1,)"""
        return self.energy + self.entropy

    def log_density(self, u: int, mu: ArrayLike, tau: ArrayLike) -> Array:
        """log q after u updates, at mu and tau of one shape; tau > 0."""
        mu, tau = np.asarray(mu, dtype=np.float64), np.asarray(tau, dtype=np.float64)
        z = (mu - self.mean[u]) / self.sd[u]
        a, b = float(self.shape[u]), float(self.rate[u])
        normal = -0.5 * (z * z + LOG_2PI) - math.log(self.sd[u])
        return np.asarray(normal + a * math.log(b) - math.lgamma(a) + (a - 1.0) * np.log(tau) - b * tau)


def ascend_normal_gamma(
    y: ArrayLike,
    prior: NormalGamma | None = None,
    *,
    start: tuple[float, float] = (0.0, 1.0),
    start_tau: tuple[float, float] = (1.0, 1.0),
    sweeps: int = 10,
) -> NormalGammaAscent:
    """y_i ~ N(mu, 1 / tau) with a Normal-Gamma prior, fitted by q(mu) q(tau).

    q(mu) = N((kappa m + sum y) / (kappa + n), 1 / ((kappa + n) E tau)); q(tau) = Gamma(alpha + (n + 1) / 2,
    beta + E[kappa (mu - m)**2 + sum (y_i - mu)**2] / 2).

    prior : default NormalGamma(); start : mean and sd of q(mu), start_tau : shape and rate of q(tau), before the first
        update; sweeps : over both
    """
    from scipy.special import digamma, gammaln

    belief = prior or NormalGamma()
    values = belief.observations(y)
    n, total, squares = values.size, float(values.sum()), float((values**2).sum())
    if not (start[1] > 0.0 and min(start_tau) > 0.0):
        raise SpecError("start", "sd, shape and rate must be above 0")
    weight = belief.kappa + n
    rows = [(*start, *start_tau)]
    for u in range(2 * sweeps):
        mean, sd, shape, rate = rows[-1]
        if u % 2 == 0:
            mean = (belief.kappa * belief.m + total) / weight
            sd = 1.0 / math.sqrt(weight * shape / rate)
        else:
            shape = belief.alpha + 0.5 * (n + 1)
            rate = belief.beta + 0.5 * _expected_squares(belief, n, total, squares, mean, sd)
        rows.append((mean, sd, shape, rate))
    mean_, sd_, shape_, rate_ = np.array(rows).T
    log_tau, tau = digamma(shape_) - np.log(rate_), shape_ / rate_
    expected = _expected_squares(belief, n, total, squares, mean_, sd_)
    energy = (
        belief.alpha * math.log(belief.beta)
        - math.lgamma(belief.alpha)
        + 0.5 * math.log(belief.kappa)
        - 0.5 * (n + 1) * LOG_2PI
        + (belief.alpha - 1.0 + 0.5 * (n + 1)) * log_tau
        - tau * (belief.beta + 0.5 * expected)
    )
    entropy = np.log(sd_) + 0.5 * (1.0 + LOG_2PI)
    entropy = entropy + shape_ - np.log(rate_) + gammaln(shape_) + (1.0 - shape_) * digamma(shape_)
    return NormalGammaAscent(
        mean_, sd_, shape_, rate_, np.tile(np.arange(2), sweeps), energy, entropy, belief.log_evidence(values), belief.update(values)
    )


def _expected_squares(belief, n, total, squares, mean, sd):
    """E[kappa (mu - m)**2 + sum (y_i - mu)**2] under q(mu) = N(mean, sd**2)."""
    spread = (belief.kappa + n) * sd**2
    return belief.kappa * (mean - belief.m) ** 2 + squares - 2.0 * mean * total + n * mean**2 + spread
