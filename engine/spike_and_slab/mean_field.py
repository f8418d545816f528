"""Mean-field variational inference for spike and slab: q = prod_j [alpha_j N(mu_j, s_j**2) + (1 - alpha_j) delta_0].

Coordinate ascent, each factor to its optimum given the others. For the logistic model the likelihood is bounded from
below by Jaakkola and Jordan's quadratic, one number xi_i per row, which is the Polya-Gamma mean-field. The ELBO is
exact for the linear model and a bound for the logistic one: in both it lies below log p(y).

Factors that do not see each other's uncertainty make the inclusion probabilities too sure: of two predictors that carry
the same information, q takes one and drops the other, where the posterior shares the probability.

Sources: Carbonetto and Stephens 2012; Jaakkola and Jordan 2000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.samplers.run import whole_number
from engine.spec import SpecError
from engine.spike_and_slab.model import SpikeAndSlab
from engine.targets.densities import LOG_2PI

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SelectionAscent:
    """Coordinate ascent, S sweeps over all columns.

    inclusion : (S + 1, p), alpha; row 0 is the start
    mean, sd : (S + 1, K), mu and s of the slab part of every column
    elbo : (S + 1,)
    converged : whether the last sweep changed every alpha by less than the tolerance
    """

    inclusion: Array
    mean: Array
    sd: Array
    elbo: Array
    converged: bool


def ascend_selection(model: SpikeAndSlab, *, start: ArrayLike | None = None, sweeps: int = 200, tolerance: float = 1e-8) -> SelectionAscent:
    """Fit q to the posterior of gamma and the coefficients, in at most `sweeps` sweeps.

    start : (p,) or a number, alpha before the first sweep, default the prior; the ascent can end in different places
    """
    p, always, X, y = model.predictors, model.always, model.design, model.y
    K = p + always
    begin = model.inclusion if start is None else np.asarray(start, dtype=np.float64)
    if begin.shape not in ((), (p,)) or not np.all((begin >= 0.0) & (begin <= 1.0)):
        raise SpecError("start", f"must be a probability or {p} of them")
    alpha = np.concatenate([np.ones(always), np.broadcast_to(begin, (p,))])
    mu, s = np.zeros(K), 1.0 / np.sqrt(model.precision)
    logistic = model.likelihood == "logistic"
    moment = model.moment
    xi = _root_mean_square(X, alpha, mu, s) if logistic else np.empty(0)
    omega = _weight(xi) if logistic else np.full(y.size, model.noise_sd**-2.0)
    gram = X.T @ (omega[:, None] * X)

    def bound() -> float:
        return _expected_log_likelihood(model, omega, xi, alpha, mu, s) - _divergence(model, alpha, mu, s)

    rows, bounds, converged = [(alpha[always:].copy(), mu.copy(), s.copy())], [bound()], False
    for _ in range(whole_number("sweeps", sweeps, 1)):
        before = alpha.copy()
        for k in range(K):
            s[k] = 1.0 / np.sqrt(gram[k, k] + model.precision[k])
            others = gram[k] @ (alpha * mu) - gram[k, k] * alpha[k] * mu[k]
            mu[k] = s[k] ** 2 * (moment[k] - others)
            if k >= always:
                evidence = np.log(s[k]) + 0.5 * np.log(model.precision[k]) + 0.5 * (mu[k] / s[k]) ** 2
                alpha[k] = 1.0 / (1.0 + np.exp(-np.clip(model.log_odds[k - always] + evidence, -700.0, 700.0)))
        if logistic:
            xi = _root_mean_square(X, alpha, mu, s)
            omega = _weight(xi)
            gram = X.T @ (omega[:, None] * X)
        rows.append((alpha[always:].copy(), mu.copy(), s.copy()))
        bounds.append(bound())
        if np.abs(alpha - before).max() < tolerance:
            converged = True
            break
    inclusion, mean, sd = (np.array(column) for column in zip(*rows, strict=True))
    return SelectionAscent(inclusion, mean, sd, np.array(bounds), converged)


def _moments(alpha: Array, mu: Array, s: Array) -> tuple[Array, Array]:
    """Mean and variance of every coefficient under q."""
    mean = alpha * mu
    return mean, alpha * (s**2 + mu**2) - mean**2


def _root_mean_square(X: Array, alpha: Array, mu: Array, s: Array) -> Array:
    """sqrt(E[eta**2]) of every row."""
    mean, variance = _moments(alpha, mu, s)
    return np.sqrt((X @ mean) ** 2 + X**2 @ variance)


def _weight(xi: Array) -> Array:
    """tanh(xi / 2) / (2 xi), the mean of PG(1, xi); 1/4 at 0."""
    safe = np.maximum(xi, 1e-8)
    return np.asarray(np.tanh(0.5 * safe) / (2.0 * safe))


def _expected_log_likelihood(model: SpikeAndSlab, omega: Array, xi: Array, alpha: Array, mu: Array, s: Array) -> float:
    X, y = model.design, model.y
    mean, variance = _moments(alpha, mu, s)
    eta, spread = X @ mean, X**2 @ variance
    if model.likelihood == "linear":
        constant = -0.5 * y.size * (LOG_2PI + 2.0 * np.log(model.noise_sd))
        return float(constant - 0.5 * (omega @ ((y - eta) ** 2 + spread)))
    squares = eta**2 + spread
    return float(((y - 0.5) * eta - 0.5 * xi - np.log1p(np.exp(-xi)) - 0.5 * omega * (squares - xi**2)).sum())


def _divergence(model: SpikeAndSlab, alpha: Array, mu: Array, s: Array) -> float:
    """KL(q‖prior), summed over columns."""
    ratio = model.precision * s**2
    slab = 0.5 * (ratio + model.precision * mu**2 - 1.0 - np.log(ratio))
    total = float(alpha @ slab)
    a, prior = alpha[model.always :], model.inclusion
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(a > 0.0, a * np.log(a / prior), 0.0)
        outside = np.where(a < 1.0, (1.0 - a) * np.log((1.0 - a) / (1.0 - prior)), 0.0)
    return total + float((inside + outside).sum())
