"""Bayesian linear regression in closed form, and the evidence of models of different size.

`y = X theta + noise`, noise ~ N(0, sigma^2) independent, theta ~ N(0, prior_sd^2 I). Two cases in one:

- dof = inf: the noise is known, sigma = noise_sd; then `y ~ N(0, K)`, `K = noise_sd^2 I + prior_sd^2 X X'`.
- dof finite: noise_sd is a guess worth `dof` observations, 1/sigma^2 ~ Gamma(dof/2, rate dof noise_sd^2/2), and theta
  is scaled with the noise, theta ~ N(0, (prior_sd sigma/noise_sd)^2 I); then y is Student with `dof` degrees of freedom
  and scale matrix K. It tends to the first case as dof grows.

Models of different size are nested: model of size k uses the first k columns of one design.

Sources: Bishop 2006, sections 3.3 and 3.4; MacKay 1992 (Occam factor); the recursion is Potter's square root form of
Kalman's filter; leave-one-out predictions as in Rasmussen and Williams 2006, section 5.4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.spec import SpecError

Array = NDArray[np.float64]

BASES = ("legendre", "powers")
FULL_RANK = 1e-10  # singular values below this, of the largest, leave least squares without a unique answer


def polynomial_design(x: ArrayLike, degree: int, basis: str = "legendre") -> Array:
    """(n, degree + 1) columns of a polynomial in x (n,) in [0, 1]: Legendre P_j(2x - 1), or the powers x^j."""
    x = np.asarray(x, dtype=np.float64)
    if basis not in BASES:
        raise SpecError("basis", f"{basis!r} is not one of {', '.join(BASES)}")
    if basis == "powers":
        return np.vander(x, degree + 1, increasing=True)
    return np.asarray(np.polynomial.legendre.legvander(2.0 * x - 1.0, degree), dtype=np.float64)


def log_density(quadratic: ArrayLike, n: int, log_determinant: ArrayLike, dof: ArrayLike) -> Array:
    """Log density of n numbers z with z' K^-1 z = quadratic and log |K| = log_determinant: normal where dof is inf,
    else Student. The arguments broadcast.
    """
    quadratic, log_determinant, dof = (np.asarray(a, dtype=np.float64) for a in (quadratic, log_determinant, dof))
    if np.all(np.isinf(dof)):
        return np.asarray(-0.5 * (n * math.log(2.0 * math.pi) + quadratic + log_determinant))
    from scipy.special import gammaln

    constant = gammaln(0.5 * (dof + n)) - gammaln(0.5 * dof) - 0.5 * n * np.log(dof * math.pi)
    return np.asarray(constant - 0.5 * (dof + n) * np.log1p(quadratic / dof) - 0.5 * log_determinant)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Theta given the data: normal, or Student with `dof` degrees of freedom, about `mean` (k,) with scale matrix
    root root' (k, k).

    scale : estimate of the noise sd, the known one where dof is inf
    log_evidence : log p(y)
    log_fit : log p(y | theta) at theta = mean, the noise averaged out where it is unknown
    """

    mean: Array
    root: Array
    scale: float
    dof: float
    log_evidence: float
    log_fit: float

    @property
    def log_occam(self) -> float:
        """What freedom costs: log evidence minus log fit."""
        return self.log_evidence - self.log_fit

    def curve(self, design: Array) -> tuple[Array, Array]:
        """Mean and scale, (m,) each, of X theta at the rows of `design` (m, k)."""
        return design @ self.mean, np.sqrt(((design @ self.root) ** 2).sum(axis=1))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """(n, k) independent draws."""
        z = rng.standard_normal((n, len(self.mean))) @ self.root.T
        if math.isfinite(self.dof):
            z /= np.sqrt(rng.chisquare(self.dof, (n, 1)) / self.dof)
        return self.mean + z


def solve(design: Array, y: Array, *, noise_sd: float, prior_sd: float, dof: float = math.inf) -> Posterior:
    """The posterior of all data at once, by the singular values of the design.

    design : (n, k), n may be 0; y : (n,); noise_sd, prior_sd > 0 in units of y; dof > 0
    """
    X, y = _checked(design, y, noise_sd, prior_sd, dof)
    n, k = X.shape
    U, d, Vt = np.linalg.svd(X)
    rank = len(d)
    d = np.concatenate([d, np.zeros(k - rank)])
    variance = noise_sd**2 + (prior_sd * d) ** 2  # of y along the columns of U
    along = U[:, :rank].T @ y
    mean = Vt[:rank].T @ (prior_sd**2 * d[:rank] / variance[:rank] * along)
    across = y - U[:, :rank] @ along
    quadratic = float(along**2 @ (1.0 / variance[:rank])) + float(across @ across) / noise_sd**2
    log_determinant = float(np.log(variance[:rank]).sum()) + 2.0 * (n - rank) * math.log(noise_sd)
    stretch = float(_stretch(quadratic, n, dof))
    residual = y - X @ mean
    return Posterior(
        mean,
        stretch * Vt.T * (prior_sd * noise_sd / np.sqrt(variance)),
        stretch * noise_sd,
        dof + n,
        float(log_density(quadratic, n, log_determinant, dof)),
        float(log_density(residual @ residual / noise_sd**2, n, 2.0 * n * math.log(noise_sd), dof)),
    )


def _stretch(quadratic: ArrayLike, n: ArrayLike, dof: float) -> Array:
    """By how much the data stretch the guess of the noise sd: 1 where it is known."""
    if math.isinf(dof):
        return np.ones(np.broadcast(quadratic, n).shape)
    return np.asarray(np.sqrt((dof + np.asarray(quadratic)) / (dof + np.asarray(n))))


@dataclass(frozen=True, eq=False)
class Course:
    """M nested models as n observations arrive one by one; what a model of size k has not is 0 beyond its k.

    mean : (n + 1, M, K), before any and after each observation
    root : (n + 1, M, K, K), scale matrix root root'
    dof : (n + 1,) of the Student, inf for known noise
    expected, spread : (n, M), location and scale of the prediction of each observation from those before it
    score : (n, M), log density of that prediction at what came
    log_evidence : (n + 1, M), its running sum
    scale : (n + 1, M), estimate of the noise sd
    """

    mean: Array
    root: Array
    dof: Array
    expected: Array
    spread: Array
    score: Array
    log_evidence: Array
    scale: Array


def arrive(design: Array, y: Array, sizes: Sequence[int], *, noise_sd: float, prior_sd: float, dof: float = math.inf) -> Course:
    """All models of `sizes`, updated by one observation after the other. design (n, K), K >= max(sizes)."""
    X, y = _checked(design, y, noise_sd, prior_sd, dof)
    (n, K), M = X.shape, len(sizes)
    mean, root = np.zeros((n + 1, M, K)), np.zeros((n + 1, M, K, K))
    for model, size in enumerate(sizes):
        root[0, model, range(size), range(size)] = prior_sd
    expected, variance = np.zeros((n, M)), np.zeros((n, M))
    for t in range(n):
        seen = np.einsum("mij,i->mj", root[t], X[t])
        expected[t] = mean[t] @ X[t]
        variance[t] = noise_sd**2 + (seen**2).sum(axis=1)
        gain = np.einsum("mij,mj->mi", root[t], seen) / variance[t, :, None]
        mean[t + 1] = mean[t] + gain * (y[t] - expected[t])[:, None]
        shrink = seen / (1.0 + noise_sd / np.sqrt(variance[t]))[:, None]
        root[t + 1] = root[t] - gain[:, :, None] * shrink[:, None, :]
    surprise = (y[:, None] - expected) ** 2 / variance
    quadratic = np.vstack([np.zeros(M), np.cumsum(surprise, axis=0)])
    count = np.arange(n + 1.0)
    stretch = _stretch(quadratic, count[:, None], dof)
    spread = stretch[:-1] * np.sqrt(variance)
    score = log_density(((y[:, None] - expected) / spread) ** 2, 1, 2.0 * np.log(spread), dof + count[:-1, None])
    return Course(
        mean,
        stretch[:, :, None, None] * root,
        dof + count,
        expected,
        spread,
        score,
        np.vstack([np.zeros(M), np.cumsum(score, axis=0)]),
        stretch * noise_sd,
    )


def left_out_scores(design: Array, y: Array, *, noise_sd: float, prior_sd: float, dof: float = math.inf) -> Array:
    """(n,) log density of each observation given all others: Bayesian leave-one-out, without fitting n times."""
    X, y = _checked(design, y, noise_sd, prior_sd, dof)
    n = len(y)
    U, d, _ = np.linalg.svd(X, full_matrices=True)
    variance = noise_sd**2 + (prior_sd * np.concatenate([d, np.zeros(n - len(d))])) ** 2
    inverse = (U / variance) @ U.T
    precision = np.diag(inverse)
    error = inverse @ y / precision  # y_i minus what the others expect
    quadratic = float(y @ inverse @ y) - error**2 * precision
    spread = _stretch(quadratic, n - 1, dof) / np.sqrt(precision)
    return log_density((error / spread) ** 2, 1, 2.0 * np.log(spread), dof + n - 1)


def left_out_errors(design: Array, y: Array, folds: Sequence[NDArray[np.int64]]) -> Array:
    """(n,) y minus its least-squares prediction from the other folds, in closed form; NaN where the other folds do not
    determine the fit.

    folds : index arrays that part 0..n-1. Source: e_f = (I - H_ff)^-1 (y - H y)_f with the hat matrix H.
    """
    X, y = np.asarray(design, dtype=np.float64), np.asarray(y, dtype=np.float64)
    errors = np.full(len(y), np.nan)
    U, d, _ = np.linalg.svd(X, full_matrices=False)
    if len(y) < X.shape[1] or d[-1] < FULL_RANK * d[0]:
        return errors
    residual = y - U @ (U.T @ y)
    for fold in folds:
        block = np.eye(len(fold)) - U[fold] @ U[fold].T
        if np.linalg.eigvalsh(block)[0] > FULL_RANK:
            errors[fold] = np.linalg.solve(block, residual[fold])
    return errors


def _checked(design: Array, y: Array, noise_sd: float, prior_sd: float, dof: float) -> tuple[Array, Array]:
    X, y = np.asarray(design, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise SpecError("design", f"needs shape (n, k) for y (n,); has {X.shape} for {y.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise SpecError("y", "holds a number that is not finite")
    for name, value in (("noise_sd", noise_sd), ("prior_sd", prior_sd)):
        if not (math.isfinite(value) and value > 0.0):
            raise SpecError(name, f"{value:g} is not a positive number")
    if not dof > 0.0:
        raise SpecError("dof", f"{dof:g} is not above 0")
    return X, y
