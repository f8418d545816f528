"""Bayesian logistic regression with one input, exactly: two weights are few enough for a grid.

y ~ Bernoulli(1 / (1 + exp(-w0 - w1 x))), independent normal priors N(0, prior_sd^2) on both weights. As a target it is
a network without hidden layers. Weights are ordered (w0, w1), intercept first.

Source: Steyn 2018, sections 4.1 and 4.2 (Newton-Raphson, double integral, Monte Carlo predictive).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.networks.mlp import network
from engine.targets.target import Target

Array = NDArray[np.float64]

NODES = 101  # of the grid, a side
EDGE = 1e-9  # of the mass, at most, on the border of the grid
STEP_LIMIT = 40.0  # a Newton step longer than this has lost its way
LONG_AGO = 100  # steps


def posterior(x: ArrayLike, y: ArrayLike, prior_sd: float) -> Target:
    """The posterior of (w1, w0), the order of a network's parameters, with all constants."""
    model = network(1, 1, depth=0, likelihood="bernoulli", prior_sd=prior_sd)
    return model.posterior(np.asarray(x, dtype=float)[:, None], y)


@dataclass(frozen=True, eq=False)
class Newton:
    """Newton-Raphson steps to the mode.

    path : (steps + 1, 2) weights from (0, 0) on; value (steps + 1,) log density there, without constants of the prior
    halvings : (steps,) how often each step was halved because it overshot
    hessian : (2, 2) of the log density at the end
    converged : whether the last step was shorter than the tolerance
    """

    path: Array
    value: Array
    halvings: NDArray[np.int64]
    hessian: Array
    converged: bool


def newton(x: Array, y: Array | NDArray[np.int64], prior_sd: float = math.inf, *, tolerance: float = 1e-8, most: int = LONG_AGO) -> Newton:
    """Climb to the mode; with an infinite prior sd, to the maximum of the likelihood.

    Where the classes can be separated the likelihood has no maximum: then it stops without convergence.
    """
    design, y = np.column_stack([np.ones(len(x)), x]), np.asarray(y, dtype=float)
    precision = 0.0 if math.isinf(prior_sd) else 1.0 / prior_sd**2

    def value(w: Array) -> float:
        eta = design @ w
        return float(np.sum(y * eta - np.logaddexp(0.0, eta)) - 0.5 * precision * (w @ w))

    def curvature(w: Array) -> tuple[Array, Array]:
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ w, -700, 700)))
        gradient = design.T @ (y - p) - precision * w
        return gradient, -(design.T * (p * (1.0 - p))) @ design - precision * np.eye(2)

    w = np.zeros(2)
    path, values, halvings, converged = [w], [value(w)], [], False
    for _ in range(most):
        gradient, hessian = curvature(w)
        try:
            step = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:  # flat in some direction: no unique maximum
            break
        if not np.all(np.isfinite(step)) or np.abs(step).max() > STEP_LIMIT:
            break
        halved = 0
        while value(w + step) < values[-1] - 1e-12 and halved < 40:
            step, halved = step / 2, halved + 1
        w = w + step
        path.append(w)
        values.append(value(w))
        halvings.append(halved)
        if np.abs(step).max() < tolerance:
            converged = True
            break
    return Newton(np.array(path), np.array(values), np.array(halvings, dtype=np.int64), curvature(w)[1], converged)


@dataclass(frozen=True, eq=False)
class Grid:
    """The exact posterior on a grid.

    w0, w1 : (NODES,) nodes; weight (NODES, NODES), rows w1, adds up to 1; log_density likewise, with all
        constants
    log_evidence : log p(y | x)
    mean, covariance : of (w0, w1)
    edge : share of the mass on the border: how much the grid may miss
    """

    w0: Array
    w1: Array
    weight: Array
    log_density: Array
    log_evidence: float
    mean: Array
    covariance: Array
    edge: float

    def marginal(self, which: int) -> tuple[Array, Array]:
        """Nodes and density of w0 (which = 0) or w1."""
        nodes = (self.w0, self.w1)[which]
        return nodes, self.weight.sum(axis=which) / (nodes[1] - nodes[0])

    def predictive(self, x: ArrayLike) -> tuple[Array, Array]:
        """Mean and sd over the posterior of p(y = 1 | x), each (m,)."""
        chosen = self.weight > 1e-14
        weight = self.weight[chosen]
        w0, w1 = (a[chosen] for a in np.meshgrid(self.w0, self.w1))
        p = sigmoid(w0 + np.atleast_1d(np.asarray(x, dtype=float))[:, None] * w1)
        mean = p @ weight
        return mean, np.sqrt(np.maximum((p**2) @ weight - mean**2, 0.0))

    def band(self, x: ArrayLike, shares: tuple[float, float] = (0.05, 0.95)) -> Array:
        """Quantiles (2, m) of p(y = 1 | x) over the posterior."""
        chosen = self.weight > 1e-8 * self.weight.max()
        weight = self.weight[chosen] / self.weight[chosen].sum()
        w0, w1 = (a[chosen] for a in np.meshgrid(self.w0, self.w1))
        found = []
        for place in np.atleast_1d(np.asarray(x, dtype=float)):
            eta = w0 + w1 * place
            order = np.argsort(eta)
            below = np.cumsum(weight[order]) - 0.5 * weight[order]
            found.append(np.interp(shares, below, eta[order]))
        return sigmoid(np.array(found).T)

    def probability_density(self, x: float, bins: int) -> Array:
        """Density of p(y = 1 | x) over the posterior, in `bins` equal bins of [0, 1].

        The mass of each cell is spread over the interval of p that its corners reach, so that the grid does not show.
        """
        half0, half1 = 0.5 * (self.w0[1] - self.w0[0]), 0.5 * (self.w1[1] - self.w1[0])
        chosen = self.weight > 1e-12
        w0, w1 = (a[chosen] for a in np.meshgrid(self.w0, self.w1))
        eta, reach = w0 + w1 * x, half0 + half1 * abs(x)
        low, high = sigmoid(eta - reach), sigmoid(eta + reach)
        edges = np.linspace(0.0, 1.0, bins + 1)
        share = np.clip((edges[:, None] - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        return np.diff(share @ self.weight[chosen]) * bins


def sigmoid(eta: Array) -> Array:
    """1 / (1 + exp(-eta)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * eta)))


def exact(x: ArrayLike, y: ArrayLike, prior_sd: float, nodes: int = NODES) -> Grid:
    """The posterior by the trapezoidal rule on a grid that is widened until hardly any mass lies on its border."""
    x, y = np.asarray(x, dtype=float), np.asarray(y)
    target, climb = posterior(x, y, prior_sd), newton(x, y, prior_sd)
    centre = climb.path[-1]
    sd = np.sqrt(np.diag(np.linalg.inv(-climb.hessian)))
    low, high = centre - 6.0 * sd, centre + 6.0 * sd
    for _ in range(12):
        w0, w1 = (np.linspace(low[j], high[j], nodes) for j in range(2))
        log_density = target.density_grid(w1, w0).T  # the target's first coordinate is w1; rows here are w1
        weight = np.exp(log_density - log_density.max())
        total = weight.sum()
        sides = np.array([[weight[:, 0].sum(), weight[:, -1].sum()], [weight[0].sum(), weight[-1].sum()]]) / total
        if sides.max() < EDGE:
            break
        low, high = low - 2.0 * sd * (sides[:, 0] >= EDGE), high + 2.0 * sd * (sides[:, 1] >= EDGE)
    cell = (w0[1] - w0[0]) * (w1[1] - w1[0])
    evidence = float(log_density.max() + math.log(total * cell))
    weight = weight / total
    first, second = weight.sum(axis=0), weight.sum(axis=1)
    mean = np.array([first @ w0, second @ w1])
    cross = (w1 - mean[1]) @ weight @ (w0 - mean[0])
    covariance = np.array([[first @ (w0 - mean[0]) ** 2, cross], [cross, second @ (w1 - mean[1]) ** 2]])
    return Grid(w0, w1, weight, log_density, evidence, mean, covariance, float(sides.max()))


@dataclass(frozen=True, eq=False)
class Laplace:
    """The normal approximation at the mode: mean (2,), covariance (2, 2), and its log evidence."""

    mean: Array
    covariance: Array
    log_evidence: float

    def probability_density(self, x: float, p: Array) -> Array:
        """Density of p(y = 1 | x) at p (m,) inside (0, 1): a normal seen through the sigmoid."""
        direction = np.array([1.0, x])
        sd = math.sqrt(direction @ self.covariance @ direction)
        eta = np.log(p) - np.log1p(-p)
        z = (eta - direction @ self.mean) / sd
        return np.asarray(np.exp(-0.5 * z**2) / (sd * math.sqrt(2.0 * math.pi)) / (p * (1.0 - p)))


def laplace(x: ArrayLike, y: ArrayLike, prior_sd: float) -> Laplace:
    """Laplace's approximation: mode by Newton steps, covariance from the curvature there."""
    x, y = np.asarray(x, dtype=float), np.asarray(y)
    climb = newton(x, y, prior_sd)
    covariance = np.asarray(np.linalg.inv(-climb.hessian), dtype=np.float64)
    top = posterior(x, y, prior_sd).log_density(climb.path[-1][::-1])
    evidence = top + math.log(2.0 * math.pi) + 0.5 * float(np.linalg.slogdet(covariance)[1])
    return Laplace(climb.path[-1], covariance, evidence)


def importance_draws(design: Array, y: Array, prior_sd: float, draws: int, seed: int) -> tuple[Array, Array]:
    """Weights (draws, p) of a logistic regression with many inputs, and their importance weights (draws,), which sum to 1.

    For columns of any scale, where chains do not arrive: draws are of a Student t distribution with 8 degrees of freedom
    around the mode, then, twice, of one with the mean and covariance of what was found.

    design : (n, p), with a column of ones where there is an intercept; prior N(0, prior_sd^2) on all p weights
    """
    scale = np.abs(design).max(axis=0)
    columns, sd = design / scale, prior_sd * scale

    def log_density(w: Array) -> Array:
        eta = w @ columns.T
        return np.asarray(np.sum(y * eta - np.logaddexp(0.0, eta), axis=1) - 0.5 * np.sum((w / sd) ** 2, axis=1))

    centre, covariance = np.zeros(len(scale)), np.eye(len(scale))
    for _ in range(LONG_AGO):  # Newton's steps to the mode; the density is log-concave
        p = sigmoid(columns @ centre)
        gradient = columns.T @ (y - p) - centre / sd**2
        covariance = np.linalg.inv((columns.T * (p * (1.0 - p))) @ columns + np.diag(sd**-2.0))
        step = covariance @ gradient
        while log_density(np.atleast_2d(centre + step))[0] < log_density(np.atleast_2d(centre))[0] - 1e-9:
            step = step / 2.0
        centre = centre + step
        if gradient @ step < 1e-10:
            break
    rng, freedom = np.random.Generator(np.random.SFC64(seed)), 8.0
    for _ in range(3):
        z = rng.standard_normal((draws, len(scale)))
        shrink = rng.chisquare(freedom, draws) / freedom
        w = centre + (z @ np.linalg.cholesky(covariance).T) / np.sqrt(shrink)[:, None]
        log_weight = log_density(w) + 0.5 * (freedom + len(scale)) * np.log1p(np.sum(z**2, axis=1) / shrink / freedom)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        centre, covariance = weight @ w, np.cov(w.T, aweights=weight)
    return w / scale, weight
