"""Automatic differentiation variational inference: climb the ELBO of a normal q by stochastic gradients.

theta = T(zeta), zeta = m + L eps, eps ~ N(0, I), L_ii = exp(gamma_i). With f = log p + log |J| and g its slope in zeta,
J the Jacobian of T, which takes the real line to each coordinate's support,

    ELBO = E[f] + sum_i gamma_i + constant
    dELBO / dm = E[g],   dELBO / dL_ij = E[g_i eps_j],   dELBO / dgamma_i = L_ii E[g_i eps_i] + 1

or, without a slope of p, E[(f - log q) s] with the score s, the slope of log q in its parameters; a control variate
takes from each draw's f - log q the mean of the others'. A minibatch of B of N rows stands for all: its sum counts N / B
times. Each step is one of Adam. Source: Kucukelbir et al. 2017, equations 8 and 9; Ranganath et al. 2014, equation 4
(score); Kingma and Ba 2015, algorithm 1.
"""

import math

import numpy as np

BETA1, BETA2, TINY = 0.9, 0.999, 1e-8


def advi(
    target,
    dim,
    n,
    rng,
    positive=(),
    samples=1,
    step_size=0.05,
    full_rank=False,
    estimator="reparameterised",
    control=False,
    rows=0,
    batch=0,
    variant="exact",
):
    """m (n + 1, dim) and L (n + 1, dim, dim) from m = 0, L = 1 on. target(theta) gives log p and its gradient (dim,).

    positive : the coordinates that are above 0, for which T = exp; the others are real
    estimator : "reparameterised", or "score", which may have the control variate
    rows, batch : N and B; then target(theta, chosen, factor) is asked, for log prior + factor * log p(chosen rows)
    """
    positive = np.isin(np.arange(dim), positive)
    below = np.tril_indices(dim, -1) if full_rank else np.zeros((2, 0), int)
    q = np.zeros(2 * dim + len(below[0]))  # m, gamma, and L below its diagonal
    path, first, second, order = [q], np.zeros_like(q), np.zeros_like(q), np.arange(rows)
    for t in range(1, n + 1):
        m, L = root(q, dim, below)
        asked: tuple = ()
        if batch:
            # phase: draw
            factor = 1.0 if variant == "no_scaling" else rows / batch  # wrong: no_scaling
            asked = (shuffled(order, batch, rng), factor)
        values, scores, slopes = [], [], []
        for _ in range(samples):
            # phase: draw
            eps = rng.standard_normal(dim)
            zeta = m + L @ eps
            theta = np.where(positive, np.exp(zeta), zeta)
            # phase: vote
            f, g = target(theta, *asked)
            g = g * np.where(positive, theta, 1.0)
            if variant != "no_jacobian":  # wrong: no_jacobian
                f, g = f + zeta[positive].sum(), g + positive
            sign = -1.0 if variant == "entropy_sign" else 1.0  # wrong: entropy_sign
            slopes.append(np.concatenate([g, np.diag(L) * g * eps + sign, g[below[0]] * eps[below[1]]]))
            z = np.linalg.solve(L.T, eps)
            log_q = -0.5 * (eps @ eps + dim * math.log(2.0 * math.pi)) - q[dim : 2 * dim].sum()
            values.append(f - sign * log_q)
            scores.append(np.concatenate([z, np.diag(L) * z * eps - 1.0, z[below[0]] * eps[below[1]]]))
        # phase: move
        slope, others = np.mean(slopes, axis=0), 0.0
        if estimator == "score":
            if control:
                others = (sum(values) - np.array(values)) / (samples - 1)
            slope = np.mean((np.array(values) - others)[:, None] * scores, axis=0)
        first = BETA1 * first + (1.0 - BETA1) * slope
        second = BETA2 * second + (1.0 - BETA2) * slope * slope
        q = q + step_size / (1.0 - BETA1**t) * first / (np.sqrt(second) / math.sqrt(1.0 - BETA2**t) + TINY)
        path.append(q)
    return tuple(np.array(part) for part in zip(*(root(q, dim, below) for q in path), strict=True))


def shuffled(order, batch, rng):
    """The first `batch` rows of a shuffle: each row as likely as any, none twice."""
    # phase: draw
    for b in range(batch):
        other = b + int(rng.random() * (len(order) - b))
        order[[b, other]] = order[[other, b]]
    return order[:batch]


def root(q, dim, below):
    """m and L."""
    L = np.diag(np.exp(q[dim : 2 * dim]))
    L[below[0], below[1]] = q[2 * dim :]
    return q[:dim], L


if __name__ == "__main__":
    import engine
    from engine.readable import beside
    from engine.variational import advi as kernel

    target = engine.targets.gaussian()
    beside.report(
        "1000 steps to a Gaussian with correlation 0.8: means of q",
        lambda: advi(beside.with_gradient(target), 2, 1000, beside.stream(0), full_rank=True)[0],
        lambda: kernel(target, steps=1000, family="full_rank").mean,
    )
