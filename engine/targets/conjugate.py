"""Posteriors of normal models whose full conditionals are known: Normal-Gamma, and a hierarchical normal model of
several groups.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from engine.kernels import target_kernel
from engine.targets.densities import LOG_2PI, Array, Density
from engine.targets.target import GAMMA, NORMAL, Conditionals, Target, TargetError, Truth


@target_kernel
def _normal_gamma(q, grad, dim, data, ints, scratch):
    """q: mu, tau. data: log constant, m, kappa, shape, rate"""
    off, tau = q[0] - data[1], q[1]
    if not tau > 0.0:
        return -math.inf
    energy = data[4] + 0.5 * data[2] * off * off
    grad[0] = -data[2] * tau * off
    grad[1] = (data[3] - 0.5) / tau - energy
    return data[0] + (data[3] - 0.5) * math.log(tau) - tau * energy


@target_kernel
def _normal_gamma_conditional(q, out, coordinate, data, ints, scratch):
    if coordinate == 0:
        out[0] = data[1]
        out[1] = 1.0 / math.sqrt(data[2] * q[1])
        return NORMAL
    off = q[0] - data[1]
    out[0] = data[3] + 0.5
    out[1] = data[4] + 0.5 * data[2] * off * off
    return GAMMA


_HEAVY = 5.0  # with a smaller shape the mean is a Student t of less than 10 degrees of freedom: squares hang on few draws


def normal_gamma(*, mean: float = 0.0, kappa: float = 1.0, shape: float = 3.0, rate: float = 3.0) -> Target:
    """tau ~ Gamma(shape, rate), mu given tau ~ N(mean, 1 / (kappa tau)): the posterior of a normal model's mean and
    precision. Coordinates mu, tau.

    kappa, shape, rate : > 0. A prior (m, kappa, shape, rate) and data y of size n give mean = (kappa m + sum y) /
        (kappa + n), kappa + n, shape + n / 2, rate + sum (y - ybar)**2 / 2 + kappa n (ybar - m)**2 / (2 (kappa + n)).

    Normalised. The truth is exact; the variance of mu, rate / (kappa (shape - 1)), is infinite for shape <= 1.
    """
    if not (math.isfinite(mean) and min(kappa, shape, rate) > 0.0 and math.isfinite(kappa + shape + rate)):
        raise TargetError(f"no Normal-Gamma has mean {mean:g}, kappa {kappa:g}, shape {shape:g} and rate {rate:g}")
    log_constant = shape * math.log(rate) - math.lgamma(shape) + 0.5 * (math.log(kappa) - LOG_2PI)
    variance = rate / (kappa * (shape - 1.0)) if shape > 1.0 else math.inf
    scale = math.sqrt(rate / (kappa * shape))

    def student(x: Array) -> Array:
        z = (np.asarray(x, dtype=np.float64) - mean) / scale
        log_top = math.lgamma(shape + 0.5) - math.lgamma(shape) - 0.5 * math.log(2.0 * math.pi * shape) - math.log(scale)
        return np.asarray(np.exp(log_top - (shape + 0.5) * np.log1p(z * z / (2.0 * shape))))

    def draw(rng: np.random.Generator, n: int) -> Array:
        tau = rng.gamma(shape, 1.0 / rate, n)
        return np.column_stack([mean + rng.standard_normal(n) / np.sqrt(kappa * tau), tau])

    sd = math.sqrt(shape) / rate
    return Target(
        name="normal_gamma",
        dim=2,
        owner=_normal_gamma,
        data=np.array([log_constant, mean, kappa, shape, rate]),
        ints=np.zeros(1, dtype=np.int64),
        labels=("μ", "τ"),
        view=((mean - 5.0 * scale, mean + 5.0 * scale), (0.0, shape / rate + 4.0 * sd)),
        truth=Truth(
            np.array([mean if shape > 0.5 else math.nan, shape / rate]),
            np.diag([variance, sd * sd]),
            (student, _gamma_density(shape, rate)),
            log_normaliser=0.0,
            draw=draw,
            heavy_tails=shape < _HEAVY,
        ),
        conditionals=Conditionals(_normal_gamma_conditional),
    )


def _gamma_density(shape: float, rate: float) -> Density:
    log_constant = shape * math.log(rate) - math.lgamma(shape)

    def density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(at > 0.0, np.exp(log_constant + (shape - 1.0) * np.log(at) - rate * at), 0.0)

    return density


# The hierarchical model. data: log constant, 1 / prior_sd**2, shape, rate, then y (n) and 1 / sigma**2 (n). ints: n.


@target_kernel
def _hierarchical(q, grad, dim, data, ints, scratch):
    """q: w, mu, theta (n)"""
    n, w, mu = ints[0], q[0], q[1]
    if not w > 0.0:
        return -math.inf
    shape, rate = data[2], data[3]
    squares = 0.0
    grad[1] = -data[1] * mu
    value = data[0] - 0.5 * data[1] * mu * mu
    for j in range(n):
        off = q[2 + j] - mu
        miss = data[4 + j] - q[2 + j]
        precision = data[4 + n + j]
        squares += off * off
        value -= 0.5 * precision * miss * miss
        grad[1] += w * off
        grad[2 + j] = precision * miss - w * off
    power = shape - 1.0 + 0.5 * n
    grad[0] = power / w - rate - 0.5 * squares
    return value + power * math.log(w) - w * (rate + 0.5 * squares)


@target_kernel
def _hierarchical_conditional(q, out, coordinate, data, ints, scratch):
    n, w, mu = ints[0], q[0], q[1]
    j = coordinate % (n + 2)
    if j == 0:
        squares = 0.0
        for k in range(n):
            squares += (q[2 + k] - mu) * (q[2 + k] - mu)
        out[0] = data[2] + 0.5 * n
        out[1] = data[3] + 0.5 * squares
        return GAMMA
    precision, total = data[1], 0.0
    if j == 1:
        for k in range(n):
            if coordinate == j:
                precision += w
                total += w * q[2 + k]
            else:  # theta integrated out: y_k ~ N(mu, 1 / w + sigma_k**2)
                joint = 1.0 / (1.0 / w + 1.0 / data[4 + n + k])
                precision += joint
                total += joint * data[4 + k]
    else:
        precision = w + data[2 + n + j]
        total = w * mu + data[2 + n + j] * data[2 + j]
    out[0] = total / precision
    out[1] = 1.0 / math.sqrt(precision)
    return NORMAL


EIGHT_SCHOOLS = ((28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0), (15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0))


def hierarchical_normal(
    y: ArrayLike = EIGHT_SCHOOLS[0], sigma: ArrayLike = EIGHT_SCHOOLS[1], *, prior_sd: float = 20.0, shape: float = 1.0, rate: float = 25.0
) -> Target:
    """y_j ~ N(theta_j, sigma_j**2), theta_j ~ N(mu, 1 / w), mu ~ N(0, prior_sd**2), w ~ Gamma(shape, rate). Coordinates
    w, mu, theta_1, ..., theta_n.

    y, sigma : (n,) estimates and their known standard errors; the default is Rubin's eight schools
    prior_sd, shape, rate : > 0

    Not normalised. Given w everything else is Gaussian, so the truth is one quadrature over w (relative error below
    1e-8). Source: Gelman et al., Bayesian Data Analysis, section 5.5 (there with another prior on the spread, and
    without conjugacy).
    """
    values, errors = np.asarray(y, dtype=np.float64), np.asarray(sigma, dtype=np.float64)
    n = values.size
    if (
        values.ndim != 1
        or n < 1
        or errors.shape != values.shape
        or not (np.all(np.isfinite(values)) and np.all(errors > 0) and np.all(np.isfinite(errors)))
    ):
        raise TargetError(f"y and sigma must be finite, of one length, sigma above 0: got shapes {values.shape} and {errors.shape}")
    if not (min(prior_sd, shape, rate) > 0.0 and math.isfinite(prior_sd + shape + rate)):
        raise TargetError(f"no such prior: prior_sd {prior_sd:g}, shape {shape:g}, rate {rate:g}")
    truth = _hierarchical_truth(values, errors, prior_sd, shape, rate)
    sd = np.sqrt(np.diag(truth.covariance))
    return Target(
        name="hierarchical_normal",
        dim=n + 2,
        owner=_hierarchical,
        data=np.concatenate([[0.0, 1.0 / prior_sd**2, shape, rate], values, 1.0 / errors**2]),
        ints=np.array([n]),
        labels=("w", "μ", *(f"θ{str(j + 1).translate(_SUBSCRIPTS)}" for j in range(n))),
        view=((0.0, truth.mean[0] + 5.0 * sd[0]), (truth.mean[1] - 4.0 * sd[1], truth.mean[1] + 4.0 * sd[1])),
        truth=truth,
        conditionals=Conditionals(_hierarchical_conditional, blocked=True),
    )


def hierarchical_effect(y: ArrayLike, sigma: ArrayLike, group: int, w: Array, *, prior_sd: float = 20.0) -> tuple[Array, Array]:
    """Mean and variance, each as `w` (m,), of theta of one group given the precision w between groups; the common mean
    is integrated out. y, sigma, prior_sd : as `hierarchical_normal`.

    Source: Gelman et al., Bayesian Data Analysis, section 5.4.
    """
    values, errors = np.asarray(y, dtype=np.float64), np.asarray(sigma, dtype=np.float64)
    total = 1.0 / w[:, None] + errors**2  # variance of y given the common mean
    precision = 1.0 / prior_sd**2 + (1.0 / total).sum(axis=1)
    common = (values / total).sum(axis=1) / precision
    own = w + 1.0 / errors[group] ** 2
    pull = w / own  # towards the common mean
    return (1.0 - pull) * values[group] + pull * common, pull**2 / precision + 1.0 / own


_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _hierarchical_truth(y: Array, sigma: Array, prior_sd: float, shape: float, rate: float) -> Truth:
    """Moments by averaging over a grid of log w: the integrand is analytic and falls to 0 at both ends, where the
    trapezoidal rule is best.
    """
    log_w = np.linspace(-40.0, 15.0, 20_001)
    w = np.exp(log_w)[:, None]
    total = 1.0 / w + sigma**2  # variance of y given mu and w
    precision = 1.0 / prior_sd**2 + (1.0 / total).sum(axis=1)
    mu = (y / total).sum(axis=1) / precision
    log_p = (
        shape * log_w
        - rate * w[:, 0]
        - 0.5 * (np.log(total) + y * y / total).sum(axis=1)
        - 0.5 * np.log(precision)
        + 0.5 * mu * mu * precision
    )
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    keep = 1.0 / sigma**2 / (w + 1.0 / sigma**2)  # theta given mu: N(keep y + (1 - keep) mu, 1 / (w + 1 / sigma**2))
    pull = 1.0 - keep
    mean = np.column_stack([w[:, 0], mu, keep * y + pull * mu[:, None]])
    n = y.size
    centre = p @ mean
    covariance = (mean - centre).T @ ((mean - centre) * p[:, None])
    slope = np.column_stack([np.zeros(len(w)), np.ones(len(w)), pull])  # of each coordinate in mu
    covariance += slope.T @ (slope * (p / precision)[:, None])
    covariance[np.arange(2, n + 2), np.arange(2, n + 2)] += p @ (1.0 / (w + 1.0 / sigma**2))
    variances = np.column_stack([slope[:, j] ** 2 / precision for j in range(1, n + 2)])
    variances[:, 1:] += 1.0 / (w + 1.0 / sigma**2)

    def draw(rng: np.random.Generator, m: int) -> Array:
        # From the grid of log w, spread within its cell: the density changes by 1e-3 within one.
        k = rng.choice(len(p), m, p=p)
        at = np.exp(log_w[k] + (rng.random(m) - 0.5) * (log_w[1] - log_w[0]))
        spread = 1.0 / at[:, None] + sigma**2
        exact = 1.0 / prior_sd**2 + (1.0 / spread).sum(axis=1)
        middle = (y / spread).sum(axis=1) / exact + rng.standard_normal(m) / np.sqrt(exact)
        own = at[:, None] + 1.0 / sigma**2
        theta = (at[:, None] * middle[:, None] + y / sigma**2) / own + rng.standard_normal((m, n)) / np.sqrt(own)
        return np.column_stack([at, middle, theta])

    def spread_density(x: Array) -> Array:
        at = np.asarray(x, dtype=np.float64)
        step = log_w[1] - log_w[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(at > 0.0, np.interp(np.log(np.maximum(at, 1e-300)), log_w, p / step) / at, 0.0)

    def mixture(column: int) -> Density:
        thin = slice(None, None, 10)
        weight, centres, spreads = p[thin] / p[thin].sum(), mean[thin, column + 1], np.sqrt(variances[thin, column])

        def density(x: Array) -> Array:
            at = np.asarray(x, dtype=np.float64)
            z = (at.ravel()[:, None] - centres) / spreads
            return np.asarray((np.exp(-0.5 * (z * z + LOG_2PI)) @ (weight / spreads)).reshape(at.shape))

        return density

    return Truth(centre, covariance, (spread_density, *(mixture(j) for j in range(n + 1))), source="quadrature", draw=draw)
