"""The Kullback-Leibler divergence, in both directions.

KL(q‖p) = E_q[log q - log p] is what variational inference makes small: q pays for mass where p has none, so it hides
inside one mode. KL(p‖q) pays for missing mass of p, so q covers all of it; among normals its minimum has the mean and
the variance of p. Both are >= 0, and 0 only for q = p.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError
from engine.targets.densities import LOG_2PI
from engine.ticket import looking

Array = NDArray[np.float64]

REACH = 12.0  # standard deviations on either side that quadrature covers
BLOCK = 512  # distributions q at a time
NODES = 801  # of the trapezoidal rule over one component; spectrally accurate for smooth, fast falling integrands


def gaussian_kl(mean: ArrayLike, covariance: ArrayLike, other_mean: ArrayLike, other_covariance: ArrayLike) -> float:
    """KL(N(mean, covariance)‖N(other_mean, other_covariance)), exact. Means (dim,), covariances (dim, dim).

    Raises SpecError when a covariance is not positive definite or shapes do not fit.
    """
    m, n = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (mean, other_mean))
    s, t = (np.atleast_2d(np.asarray(a, dtype=np.float64)) for a in (covariance, other_covariance))
    if not (m.ndim == 1 and m.shape == n.shape and s.shape == t.shape == (m.size, m.size)):
        raise SpecError("covariance", f"means {m.shape} and {n.shape} do not fit covariances {s.shape} and {t.shape}")
    try:
        root, other = np.linalg.cholesky(s), np.linalg.cholesky(t)
    except np.linalg.LinAlgError:
        raise SpecError("covariance", "must be positive definite") from None
    scaled, off = np.linalg.solve(other, root), np.linalg.solve(other, n - m)
    log_ratio = float(np.log(np.diag(other)).sum() - np.log(np.diag(root)).sum())
    return max(0.0, log_ratio + 0.5 * (float((scaled**2).sum()) + float(off @ off) - m.size))


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """sum_k weight_k N(mean_k, sd_k**2) in one dimension; weight, mean, sd (K,), weights adding up to 1."""

    weight: Array
    mean: Array
    sd: Array

    @classmethod
    def of(cls, weight: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> NormalMixture:
        """Checked. Raises SpecError naming the parameter."""
        w, m, s = (np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (weight, mean, sd))
        if not (w.ndim == 1 and w.shape == m.shape == s.shape):
            raise SpecError("weight", f"weight {w.shape}, mean {m.shape} and sd {s.shape} must be of one length")
        if not (np.all(w > 0.0) and abs(float(w.sum()) - 1.0) < 1e-9):
            raise SpecError("weight", "every weight must be above 0 and all must add up to 1")
        if not (np.all(np.isfinite(m)) and np.all(np.isfinite(s)) and np.all(s > 0.0)):
            raise SpecError("sd", "means must be finite and every sd finite and above 0")
        return cls(w, m, s)

    def log_density(self, x: ArrayLike) -> Array:
        """At x, any shape."""
        z = (np.asarray(x, dtype=np.float64)[..., None] - self.mean) / self.sd
        terms = np.log(self.weight) - np.log(self.sd) - 0.5 * (z * z + LOG_2PI)
        return np.asarray(np.logaddexp.reduce(terms, axis=-1))

    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation."""
        mean = float(self.weight @ self.mean)
        return mean, math.sqrt(float(self.weight @ (self.sd**2 + (self.mean - mean) ** 2)))

    def entropy(self) -> float:
        """-E[log density], by quadrature over each component (error below 1e-9)."""
        z, share = _nodes()
        values = self.log_density(self.mean[:, None] + self.sd[:, None] * z)
        return -float(self.weight @ (values @ share))


def kl_from_q(mean: ArrayLike, sd: ArrayLike, p: NormalMixture) -> Array:
    """KL(q‖p) of q = N(mean, sd**2), by quadrature (error below 1e-9). Arrays of one shape, or numbers."""
    m, s = np.broadcast_arrays(np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64))
    z, share = _nodes()
    cross = np.empty(m.size)
    for first in range(0, m.size, BLOCK):
        block = slice(first, first + BLOCK)
        cross[block] = p.log_density(m.ravel()[block, None] + s.ravel()[block, None] * z) @ share
    return np.asarray(-0.5 * (1.0 + LOG_2PI) - np.log(s) - cross.reshape(m.shape))


def kl_from_p(mean: ArrayLike, sd: ArrayLike, p: NormalMixture) -> Array:
    """KL(p‖q) of q = N(mean, sd**2): closed form but for the entropy of p. Arrays of one shape, or numbers."""
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    centre, spread = p.moments()
    cross = np.log(s) + 0.5 * LOG_2PI + 0.5 * (spread**2 + (centre - m) ** 2) / s**2
    return np.asarray(cross - p.entropy())


@dataclass(frozen=True, eq=False)
class Descent:
    """Gradient steps down a divergence in (mean, log sd): path (steps + 1, 2) of (mean, sd), kl (steps + 1,)."""

    path: Array
    kl: Array


HALVINGS = np.arange(12)  # of a step that overshoots, most; beyond, the divergence is as small as numbers can tell
DIVERGENCES = {"from_q": kl_from_q, "from_p": kl_from_p}


def descend(mean: float, sd: float, p: NormalMixture, *, divergence: str = "from_q", steps: int = 100) -> Descent:
    """From N(mean, sd**2) to the nearest minimum of a divergence: "from_q" for KL(q‖p), which over two modes far apart
    has a minimum at each, or "from_p" for KL(p‖q), which has one.

    A step follows the natural gradient (mean: sd**2 dKL/dmean; log sd: half of dKL/dlog sd), at most 0.3 sd or 0.3 at a
    time, and is halved until KL falls.
    """
    if not (math.isfinite(mean) and math.isfinite(sd) and sd > 0.0):
        raise SpecError("sd", "the start must have a finite mean and a finite sd above 0")
    if divergence not in DIVERGENCES:
        raise SpecError("divergence", f"{divergence!r} is not one of {', '.join(DIVERGENCES)}")
    value_at, m, gamma = DIVERGENCES[divergence], float(mean), math.log(sd)
    value = float(value_at(m, sd, p))
    path, kl, converged = [(m, float(sd))], [value], False
    for _ in looking(range(steps)):
        if converged:
            path.append(path[-1])
            kl.append(value)
            continue
        down_mean, down_gamma = _downhill(divergence, m, math.exp(gamma), p)
        limit = min(1.0, 0.3 / max(abs(down_mean), abs(down_gamma), 1e-300))
        for halvings in (HALVINGS[:1], HALVINGS[1:]):  # mostly the whole step will do
            lengths = limit * 0.5**halvings
            new_m, new_gamma = m + lengths * math.exp(gamma) * down_mean, gamma + lengths * down_gamma
            new = value_at(new_m, np.exp(new_gamma), p)
            better = int(np.argmax(new < value))
            if new[better] < value:
                m, gamma, value = float(new_m[better]), float(new_gamma[better]), float(new[better])
                break
        else:
            converged = True
        path.append((m, math.exp(gamma)))
        kl.append(value)
    return Descent(np.array(path), np.array(kl))


def _downhill(divergence: str, m: float, s: float, p: NormalMixture) -> tuple[float, float]:
    """Minus the natural gradient, in units of s for the mean, and in log s."""
    if divergence == "from_p":
        centre, spread = p.moments()
        return (centre - m) / s, 0.5 * ((spread**2 + (centre - m) ** 2) / s**2 - 1.0)
    z, share = _nodes()
    slope = _slope(p, m + s * z)
    return s * float(share @ slope), 0.5 * (1.0 + s * float(share @ (slope * z)))


def _slope(p: NormalMixture, x: Array) -> Array:
    """d log p / dx at x (n,)."""
    z = (x[:, None] - p.mean) / p.sd
    terms = np.log(p.weight) - np.log(p.sd) - 0.5 * z * z
    share = np.exp(terms - terms.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return np.asarray(-(share * z / p.sd).sum(axis=1))


def _nodes() -> tuple[Array, Array]:
    """Nodes and weights of the trapezoidal rule under a standard normal."""
    z = np.linspace(-REACH, REACH, NODES)
    share = np.exp(-0.5 * z * z)
    return z, share / share.sum()
