"""Coordinate ascent variational inference: q factorises, and each factor in turn takes its best form given the others.

    q_j proportional to exp(E over the other factors of log p)

For a Gaussian with mean mu and precision P that is N(mu_j - sum_k P_jk (m_k - mu_k) / P_jj, 1 / P_jj), k not j. For
the mean and the precision of normal data, prior mu ~ N(m0, 1 / (kappa tau)), tau ~ Gamma(a, rate b),

    q(mu) = N((kappa m0 + sum y) / (kappa + n), 1 / ((kappa + n) E tau))
    q(tau) = Gamma(a + (n + 1) / 2, b + E[kappa (mu - m0)^2 + sum (y - mu)^2] / 2)

Source: Bishop 2006, sections 10.1.2 and 10.1.3.
"""

import math

import numpy as np


def gaussian(mu, P, m, s, sweeps):
    """m and s of q after each update and before the first, (dim sweeps + 1, dim) each, from m and s (dim,) on."""
    path = [(m.copy(), s.copy())]
    for _ in range(sweeps):
        for j in range(len(mu)):
            # phase: hold
            others = np.arange(len(mu)) != j
            # phase: average
            pull = P[j, others] @ (m[others] - mu[others])
            # phase: update
            m, s = m.copy(), s.copy()
            m[j], s[j] = mu[j] - pull / P[j, j], 1.0 / math.sqrt(P[j, j])
            path.append((m, s))
    return tuple(np.array(part) for part in zip(*path, strict=True))


def mean_and_precision(y, m0, kappa, a, b, m, s, shape, rate, sweeps):
    """m, s, shape and rate (2 sweeps + 1, 4) of q(mu) = N(m, s^2) and q(tau) = Gamma(shape, rate), from these on."""
    n, path = len(y), [(m, s, shape, rate)]
    for _ in range(sweeps):
        # phase: hold
        tau = shape / rate
        # phase: update
        m, s = (kappa * m0 + y.sum()) / (kappa + n), 1.0 / math.sqrt((kappa + n) * tau)
        path.append((m, s, shape, rate))
        # phase: average
        squares = kappa * (m - m0) ** 2 + ((y - m) ** 2).sum() + (kappa + n) * s**2
        # phase: update
        shape, rate = a + 0.5 * (n + 1), b + 0.5 * squares
        path.append((m, s, shape, rate))
    return np.array(path)


if __name__ == "__main__":
    from engine.readable import beside
    from engine.variational.cavi import ascend_gaussian

    C = np.array([[1.0, 0.9], [0.9, 1.0]])
    start = np.array([2.0, -2.0])
    beside.report(
        "500 sweeps to a Gaussian with correlation 0.9: means of q",
        lambda: gaussian(np.zeros(2), np.linalg.inv(C), start, np.ones(2), 500)[0],
        lambda: ascend_gaussian(np.zeros(2), C, start=start, sweeps=500).mean,
    )
