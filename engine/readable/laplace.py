"""The Laplace approximation: a normal distribution with its mean at the mode, and the density's curvature there.

With A = -(second derivatives of log p at the mode), (dim, dim),

    p is about N(mode, A^-1),   log of its integral is about log p(mode) + dim log(2 pi) / 2 - log |A| / 2

The second derivatives are differences of the gradient of fourth order, the mode is sought by Newton's steps with them.
Source: MacKay 1992, equations 6 and 7; Bishop 2006, section 4.4.
"""

import math

import numpy as np


def laplace(target, q, steps=50):
    """Mode (dim,), A (dim, dim) and log evidence, from q (dim,) on. target(q) gives log p and its gradient (dim,)."""
    for _ in range(steps):
        log_p, g = target(q)
        move, share = ascent(-curvature(target, q), g), 1.0
        while share > 1e-10 and not target(q + share * move)[0] >= log_p:  # back on this way until it goes up
            share *= 0.5
        q = q + share * move
        if np.abs(share * move).max() < 1e-12:
            break
    A = -curvature(target, q)
    log_evidence = target(q)[0] + 0.5 * (q.size * math.log(2.0 * math.pi) - np.linalg.slogdet(A)[1])
    return q, A, log_evidence


def ascent(A, g):
    """Newton's step A^-1 g, with the directions that bend upwards turned."""
    values, vectors = np.linalg.eigh(A)
    return vectors @ (vectors.T @ g / np.maximum(np.abs(values), 1e-6))


def curvature(target, q, step=1e-3):
    """Second derivatives (dim, dim) of log p."""
    found = np.empty((q.size, q.size))
    for i in range(q.size):
        h = step * max(1.0, abs(q[i]))
        at = h * np.eye(q.size)[i]
        minus2, minus1, plus1, plus2 = (target(q + k * at)[1] for k in (-2.0, -1.0, 1.0, 2.0))
        found[i] = (minus2 - 8.0 * minus1 + 8.0 * plus1 - plus2) / (12.0 * h)
    return 0.5 * (found + found.T)


def draws(mode, A, n, rng):
    """n independent draws (n, dim): mode + R^-T z with A = R R'."""
    root = np.linalg.cholesky(A)
    return mode + np.linalg.solve(root.T, rng.standard_normal((n, len(mode))).T).T


if __name__ == "__main__":
    from engine import training
    from engine.readable import beside

    network, x, y = beside.small_network(width=2)
    near, posterior = network.map_estimate(x, y, seed=1).theta, network.posterior(x, y)
    mode, A, _ = laplace(posterior.log_density_and_gradient, near)
    beside.report(
        f"1000 draws of the Laplace approximation of a network's {network.dim} weights",
        lambda: draws(mode, A, 1000, beside.stream(0)),
        lambda: training.laplace(network, x, y, mode).draw(1000, 0),
    )
