"""The Laplace approximation of a network's posterior: the normal distribution whose mean is the mode and whose
precision is the curvature of -log posterior there.

Exact for a linear network with normal noise. Elsewhere it sees one mode out of the many that label switching makes, and
only its curvature.

hessian:
    "differences"   of the gradient, fourth order, so exact up to rounding where the log posterior is quadratic, and
                    good to many digits for smooth activations; it does not see curvature hidden in the kinks of relu
    "gauss_newton"  J' Lambda J + prior precision, with J the derivatives of the outputs and Lambda the curvature of
                    -log p(y | z) in the outputs z: never indefinite, but blind to the curvature of the network itself

Sources: MacKay 1992; Bishop 2006, section 5.7; Ritter, Botev and Barber 2018; Immer, Korzepa and Bauer 2021 (why
predictions of a Gauss-Newton approximation want the linearised network).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit, softmax

from engine.networks.mlp import Network, checked_inputs
from engine.networks.predictive import Bands
from engine.samplers.chain import per_coordinate
from engine.samplers.run import whole_number
from engine.spec import MAX_SEED, SpecError
from engine.targets.target import Target, TargetError
from engine.training.nodes import forward, jacobian

Array = NDArray[np.float64]

HESSIANS = ("differences", "gauss_newton")
SINGULAR = 1e-10  # a smallest eigenvalue below this share of the largest is no curvature


@dataclass(frozen=True, eq=False)
class Laplace:
    """N(mean, precision^-1) over the parameters of a network.

    mean : (dim,) the mode; precision : (dim, dim), `jitter` included
    root : (dim, dim) lower Cholesky root of the precision
    eigenvalues : (dim,) of the precision before jitter, ascending
    log_evidence : Laplace's estimate of log p(y | x), from this mode alone
    """

    network: Network
    mean: Array
    precision: Array
    root: Array
    eigenvalues: Array
    jitter: float
    hessian: str
    log_evidence: float

    @property
    def covariance(self) -> Array:
        """(dim, dim)"""
        inverse = solve_triangular(self.root, np.eye(len(self.mean)), lower=True)
        return np.asarray(inverse.T @ inverse)

    @property
    def sd(self) -> Array:
        """(dim,) standard deviation of every parameter."""
        return np.sqrt(np.diag(self.covariance))

    def draw(self, draws: int, seed: int) -> Array:
        """Independent draws (draws, dim), for `engine.networks.predictive`."""
        rng = np.random.Generator(np.random.SFC64(whole_number("seed", seed, 0, MAX_SEED)))
        noise = rng.standard_normal((whole_number("draws", draws, 1), len(self.mean)))
        return np.asarray(self.mean + solve_triangular(self.root, noise.T, lower=True, trans="T").T)

    def bands(self, x: ArrayLike) -> Bands:
        """Predictions of the network linearised about the mode at x (m, inputs): f(mode) + J (theta - mode), exactly
        normal. Gaussian likelihood only.
        """
        if self.network.classes:
            raise SpecError("likelihood", f"{self.network.likelihood} predicts classes: take draws and `decompose`")
        mean = forward(self.network, self.mean, x)[-1].value
        slopes = jacobian(self.network, self.mean, x)
        flat = solve_triangular(self.root, slopes.reshape(-1, len(self.mean)).T, lower=True)
        epistemic = np.sqrt((flat**2).sum(axis=0)).reshape(mean.shape)
        noise = np.full_like(mean, self.network.noise_sd)
        return Bands(mean, noise, epistemic, np.hypot(noise, epistemic))


def laplace(network: Network, x: ArrayLike, y: ArrayLike, at: ArrayLike, *, hessian: str = "differences", jitter: float = 0.0) -> Laplace:
    """The Laplace approximation at the parameters `at` (dim,), which should be a mode, as `Network.map_estimate` finds.

    hessian : see the module's text
    jitter : added to every eigenvalue of the precision, 0 for none

    Raises TargetError where the curvature is singular or not positive: then `at` is no mode, or there are directions in
    which the posterior is flat, and no normal distribution stands for it. SpecError names a wrong setting.
    """
    if hessian not in HESSIANS:
        raise SpecError("hessian", f"{hessian!r} is not one of {', '.join(HESSIANS)}")
    if isinstance(jitter, bool) or not isinstance(jitter, (int, float)) or not 0.0 <= jitter < math.inf:
        raise SpecError("jitter", f"{jitter!r} is not a number from 0 on")
    posterior = network.posterior(x, y)
    mode = per_coordinate("at", at, network.dim).copy()
    if hessian == "differences":
        curvature = -difference_hessian(posterior, mode)
    else:
        curvature = gauss_newton(network, mode, x) + np.eye(network.dim) / network.prior_sd**2
    eigenvalues: Array = np.asarray(np.linalg.eigvalsh(curvature), dtype=np.float64)
    if eigenvalues[0] + jitter <= SINGULAR * (eigenvalues[-1] + jitter):
        raise TargetError(
            f"the curvature at this point has the eigenvalue {eigenvalues[0]:.3g} (the largest is "
            f"{eigenvalues[-1]:.3g}): it is not a mode, or the posterior is flat in some direction. Climb further, "
            "take hessian='gauss_newton', or add a jitter"
        )
    precision = curvature + jitter * np.eye(network.dim)
    root: Array = np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
    log_determinant = 2.0 * float(np.log(np.diag(root)).sum())
    evidence = posterior.log_density(mode) + 0.5 * (network.dim * math.log(2.0 * math.pi) - log_determinant)
    return Laplace(network, mode, precision, root, eigenvalues, float(jitter), hessian, evidence)


def difference_hessian(target: Target, at: ArrayLike, step: float = 1e-3) -> Array:
    """Second derivatives (dim, dim) of a log density by differences of its gradient, of fourth order, symmetrised.

    step : of a coordinate, times max(1, |coordinate|). Raises TargetError where a gradient is not finite.
    """
    q = per_coordinate("at", at, target.dim)
    found = np.empty((target.dim, target.dim))
    for i in range(target.dim):
        h = step * max(1.0, abs(q[i]))
        slopes = []
        for k in (-2.0, -1.0, 1.0, 2.0):
            moved = q.copy()
            moved[i] += k * h
            slopes.append(target.log_density_and_gradient(moved)[1])
        found[i] = (slopes[0] - 8.0 * slopes[1] + 8.0 * slopes[2] - slopes[3]) / (12.0 * h)
    if not np.all(np.isfinite(found)):
        raise TargetError(f"the gradient of {target.name} is not finite around the point")
    return 0.5 * (found + found.T)


def gauss_newton(network: Network, theta: ArrayLike, x: ArrayLike) -> Array:
    """Sum over rows of J' Lambda J (dim, dim): curvature of -log likelihood as if the outputs were linear in theta."""
    inputs = checked_inputs(network, x)
    slopes = jacobian(network, theta, inputs)
    curvature = _output_curvature(network, forward(network, theta, inputs)[-1].value)
    return np.asarray(np.einsum("nip,nij,njq->pq", slopes, curvature, slopes, optimize=True))


def _output_curvature(network: Network, z: Array) -> Array:
    """Second derivatives of -log p(y | z) in z, which do not depend on y: (n, outputs, outputs)."""
    if network.likelihood == "gaussian":
        return np.broadcast_to(np.eye(network.outputs) / network.noise_sd**2, (len(z), *[network.outputs] * 2))
    a = network.temper
    if network.likelihood == "bernoulli":
        return np.asarray((a**2 * expit(a * z) * expit(-a * z))[:, :, None])
    p = softmax(a * z, axis=1)
    return np.asarray(a**2 * (p[:, :, None] * np.eye(network.outputs) - p[:, :, None] * p[:, None, :]))
