"""A network in which every weight may be absent: w = gamma b, gamma ~ Bernoulli(alpha), b ~ N(mu, sigma^2) under q.

alpha = 1 / (1 + e^-omega), sigma = log(1 + e^rho); the prior has inclusion pi and the slab N(0, s^2). A sum of weights
times inputs is drawn from the normal with its mean and variance under q, x m and x^2 v, where

    m = alpha mu,    v = alpha (sigma^2 + (1 - alpha) mu^2)

With g and h the slopes of log p(D | .) in m and v, and K = KL(N(mu, sigma^2) || N(0, s^2)), those of the ELBO are

    dmu    = alpha (g + 2 h (1 - alpha) mu - mu / s^2)
    dsigma = alpha (2 h sigma - sigma / s^2 + 1 / sigma)
    domega = alpha (1 - alpha) (g mu + h (sigma^2 + (1 - 2 alpha) mu^2) - (omega - log odds of pi + K))

and Adam climbs along them. Source: Hubin and Storvik 2019, section 3; Kingma, Salimans and Welling 2015 (the sums). The
kernel counts in single precision.
"""

import math

import numpy as np

from engine.readable.bayes_by_backprop import Adam


def spike_and_slab_network(slopes, mu, sigma, omega, n, prior_sd=1.0, inclusion=0.1, step_size=0.01, inclusion_step=0.02):
    """mu, sigma and alpha (n + 1, weights), from mu, sigma and omega (weights,) on. slopes : t, m, v -> g, h at step t."""
    s2, log_odds = prior_sd**2, math.log(inclusion / (1.0 - inclusion))
    adams = Adam(step_size), Adam(step_size), Adam(inclusion_step)
    rho, path = sigma + np.log(-np.expm1(-sigma)), [(mu, sigma, 1.0 / (1.0 + np.exp(-omega)))]
    for t in range(n):
        alpha = path[-1][2]
        g, h = slopes(t, alpha * mu, alpha * (sigma**2 + (1.0 - alpha) * mu**2))
        K = 0.5 * ((mu**2 + sigma**2) / s2 - 1.0) - np.log(sigma / prior_sd)
        d_mu = alpha * (g + 2.0 * h * (1.0 - alpha) * mu - mu / s2)
        d_sigma = alpha * (2.0 * h * sigma - sigma / s2 + 1.0 / sigma)
        through = g * mu + h * (sigma**2 + (1.0 - 2.0 * alpha) * mu**2)
        d_omega = alpha * (1.0 - alpha) * (through - (omega - log_odds + K))
        mu = mu + adams[0](d_mu)
        rho = rho + adams[1](d_sigma / (1.0 + np.exp(-rho)))
        omega = omega + adams[2](d_omega)
        sigma = np.log1p(np.exp(rho))
        path.append((mu, sigma, 1.0 / (1.0 + np.exp(-omega))))
    return tuple(np.array(part) for part in zip(*path, strict=True))


if __name__ == "__main__":
    from engine.readable import beside

    slopes, start = beside.local_slopes(8), beside.sparse_start(8)
    beside.report(
        "1000 steps of a logistic regression whose 8 weights may be absent: their probabilities to be in",
        lambda: spike_and_slab_network(slopes, *start, 1000)[2],
        lambda: beside.sparsely_trained(slopes, *start, 1000)[2],
        rows=30,
    )
