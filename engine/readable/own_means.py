"""A mean and a scale of its own for every weight: theta ~ N(mu, sigma^2), mu ~ Cauchy(0, 1), sigma ~ half normal(1).

The Cauchy is mu ~ N(0, 1 / lambda) with lambda ~ Gamma(1/2, rate 1/2). Given theta, with r = |theta - mu|,

    mu | theta, sigma, lambda ~ N(theta / (1 + lambda sigma^2), sigma^2 / (1 + lambda sigma^2))
    lambda | mu ~ Exponential(rate (1 + mu^2) / 2)
    sigma^2 = r e^t,   p(t | r) proportional to exp(-r cosh t)

The last is drawn by rejection: above exp(-r (cosh t - 1)) lies 1, and from its tangent on an exponential.

Source: Andersen and Roed-Sørensen 2021, chapter 5 (the prior); Devroye 1986, section VII.2 (the last draw).
"""

import math

import numpy as np


def own_means(theta, lam, precision, rng):
    """mu, lambda and 1 / sigma^2, (dim,) each, from lambda and 1 / sigma^2 (dim,) on."""
    mu, lam, precision = np.empty(len(theta)), lam.copy(), precision.copy()
    for j in range(len(theta)):
        shrink = 1.0 / (1.0 + lam[j] / precision[j])
        mu[j] = shrink * theta[j] + math.sqrt(shrink / precision[j]) * rng.standard_normal()
        lam[j] = 2.0 * rng.standard_exponential() / (1.0 + mu[j] * mu[j])
        r = max(abs(theta[j] - mu[j]), 1e-100)
        precision[j] = math.exp(-draw_cosh(rng, r)) / r
    return mu, lam, precision


def draw_cosh(rng, r):
    """t with density proportional to exp(-r cosh t)."""
    s = 2.0 * math.asinh(math.sqrt(0.5 / r))  # where it is 1 / e of its top
    slope = math.sqrt(2.0 * r + 1.0)  # of the tangent there
    edge = s - 1.0 / slope
    while True:
        t, log_bound = s * rng.random(), 0.0
        if t >= edge:
            log_bound = -rng.standard_exponential()
            t = edge - log_bound / slope
        if -rng.standard_exponential() <= -2.0 * r * math.sinh(0.5 * t) ** 2 - log_bound:
            return t if rng.random() < 0.5 else -t


if __name__ == "__main__":
    from engine.networks.scales import draw_means
    from engine.readable import beside

    theta, ones = beside.stream(1).standard_normal(2000), np.ones(2000)

    def kernel():
        mu, lam, precision = np.zeros(2000), ones.copy(), ones.copy()
        draw_means(beside.stream(0), theta, mu, lam, precision)
        return np.column_stack([mu, lam, precision])

    beside.report(
        "Mean, lambda and precision of 2000 weights", lambda: np.column_stack(own_means(theta, ones, ones, beside.stream(0))), kernel
    )
