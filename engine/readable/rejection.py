"""Rejection sampling: the prior proposes whole networks, the likelihood decides which of them stay.

A draw theta from the prior, and u ~ U(0, 1), accepted if u < p(D | theta) / M: what stays are independent draws from the
posterior, whatever M at or above the largest likelihood. For y_i ~ N(f(x_i), s^2) that is (2 pi s^2)^(-n/2), so that

    p(D | theta) / M = exp(-sum_i (y_i - f(x_i))^2 / (2 s^2))

and the share accepted times M estimates the evidence p(D). Source: von Neumann 1951; Andersen and Roed-Sørensen 2021,
section 4.3.
"""

import math

import numpy as np


def rejection(f, x, y, sd, n, rng, prior_sds, bound="exact"):
    """All networks (n, dim), the uniforms (n,) and which were accepted (n,).

    f(theta, x) : the network's values at x; prior_sds : (dim,), of independent normals
    bound : "exact"; "observed", the largest likelihood among the n, right in the limit
    """
    # phase: propose
    thetas = rng.standard_normal((n, len(prior_sds))) * prior_sds
    uniforms = rng.random(n)
    # phase: compare
    log_ratio = np.array([-sum((y - f(theta, x)) ** 2) / (2.0 * sd**2) for theta in thetas])
    log_largest = -0.5 * len(x) * math.log(2.0 * math.pi * sd**2)
    if bound == "observed":
        log_ratio -= log_ratio.max()
    elif bound == "undivided":  # wrong: undivided
        log_ratio += log_largest
    # phase: u
    log_u = np.log(uniforms)
    # phase: decide
    return thetas, uniforms, log_u < log_ratio


def network(theta, x, width):
    """A network with one hidden layer of tanh units: input weights, biases, output weights, output bias."""
    w, b, v = np.split(theta[:-1], 3)
    return np.tanh(np.outer(x, w) + b) @ v + theta[-1]


if __name__ == "__main__":
    from engine import rejection as kernel
    from engine.networks.prior import Prior
    from engine.readable import beside

    prior, x, y = Prior(width=8, activation="tanh"), np.array([-1.0, 0.0, 1.0]), np.array([0.5, 0.0, -0.5])

    def twin():
        drawn, _, accepted = rejection(lambda q, at: network(q, at, 8), x, y, 0.3, 4096, beside.of_prior(0), prior.sds())
        return drawn[accepted]

    beside.report("4,096 networks from the prior against three points", twin, lambda: kernel.reject(prior, x, y, 0.3, 4096, 0).weights)
